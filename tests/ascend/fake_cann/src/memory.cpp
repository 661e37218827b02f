#include "memory.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "acl/acl.h"
#include "device.h"
#include "failure.h"
#include "stream.h"

namespace fake {
namespace {

constexpr size_t kZone = 512;  // also the alignment of device memory
constexpr unsigned char kGuard = 0xA5;

std::map<uintptr_t, size_t> live;
std::map<uintptr_t, size_t> pinned;  // host memory of aclrtMallocHost
size_t in_use = 0;

void check(uintptr_t data, size_t bytes) {
  const auto* before = reinterpret_cast<const unsigned char*>(data - kZone);
  const auto* after = reinterpret_cast<const unsigned char*>(data + bytes);
  for (size_t i = 0; i < kZone; ++i) {
    if (before[i] != kGuard || after[i] != kGuard) {
      throw Refused(kDevice, "a launch wrote outside device memory: the red zone " +
                                 std::string(before[i] != kGuard ? "before" : "after") +
                                 " an allocation of " + std::to_string(bytes) +
                                 " bytes is not what it was");
    }
  }
}

}  // namespace

void poison(void* data, size_t bytes) {
  auto* words = static_cast<unsigned char*>(data);
  for (size_t i = 0; i < bytes; ++i) words[i] = (i & 1) != 0 ? 0x7F : 0xFF;
}

void* allocate(size_t bytes) {
  if (in_use + bytes > kDeviceBytes) {
    throw Refused(ACL_ERROR_BAD_ALLOC, std::to_string(bytes) + " bytes asked for, " +
                                           std::to_string(kDeviceBytes - in_use) + " free");
  }
  // the zone behind begins where the caller's bytes end, so that the first byte too many is seen
  const size_t whole = (bytes + 2 * kZone + kZone - 1) / kZone * kZone;
  auto* block = static_cast<unsigned char*>(std::aligned_alloc(kZone, whole));
  if (block == nullptr) throw Refused(ACL_ERROR_BAD_ALLOC, "the host has no memory left");
  std::memset(block, kGuard, kZone);
  std::memset(block + kZone + bytes, kGuard, kZone);
  poison(block + kZone, bytes);
  live[reinterpret_cast<uintptr_t>(block + kZone)] = bytes;
  in_use += bytes;
  return block + kZone;
}

void release(void* data) {
  const auto found = live.find(reinterpret_cast<uintptr_t>(data));
  if (found == live.end()) throw Refused(kRuntime, "freed what is no live device allocation");
  const size_t bytes = found->second;
  check(found->first, bytes);
  live.erase(found);
  in_use -= bytes;
  poison(data, bytes);
  std::free(static_cast<unsigned char*>(data) - kZone);
}

void check_red_zones() {
  for (const auto& [data, bytes] : live) check(data, bytes);
}

bool on_device(const void* data, size_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(data);
  auto next = live.upper_bound(at);
  if (next == live.begin()) return false;
  --next;
  return at + bytes <= next->first + next->second;
}

size_t bytes_in_use() { return in_use; }

namespace {

bool is_pinned(const void* data, size_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(data);
  auto next = pinned.upper_bound(at);
  if (next == pinned.begin()) return false;
  --next;
  return at + bytes <= next->first + next->second;
}

void* host_block(size_t bytes) {
  void* data = std::aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
  if (data == nullptr) throw Refused(ACL_ERROR_BAD_ALLOC, "the host has no memory left");
  pinned[reinterpret_cast<uintptr_t>(data)] = bytes;
  return data;
}

// Both ends of a copy, when it runs.
void copy(void* to, const void* from, size_t bytes, aclrtMemcpyKind kind) {
  const bool to_device = kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
  const bool from_device = kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
  if (bytes == 0) return;
  if (to_device && !on_device(to, bytes)) {
    throw Refused(kDevice, "copies to an address that is not on the device");
  }
  if (from_device && !on_device(from, bytes)) {
    throw Refused(kDevice, "copies from an address that is not on the device");
  }
  std::memmove(to, from, bytes);
}

}  // namespace
}  // namespace fake

using fake::guarded;

extern "C" {

aclError aclrtMalloc(void** data, size_t bytes, aclrtMemMallocPolicy) {
  return guarded("aclrtMalloc", [&] { *data = fake::allocate(bytes); });
}

aclError aclrtMallocAlign32(void** data, size_t bytes, aclrtMemMallocPolicy) {
  return guarded("aclrtMallocAlign32", [&] { *data = fake::allocate(bytes); });
}

// Waits for the device, as the real one does.
aclError aclrtFree(void* data) {
  return guarded("aclrtFree", [&] {
    fake::refuse_in_capture(nullptr);
    fake::run_all();
    fake::release(data);
  });
}

aclError aclrtMallocHost(void** data, size_t bytes) {
  return guarded("aclrtMallocHost", [&] { *data = fake::host_block(bytes); });
}

aclError aclrtMallocHostWithCfg(void** data, uint64_t bytes, aclrtMallocConfig*) {
  return guarded("aclrtMallocHostWithCfg", [&] { *data = fake::host_block(bytes); });
}

aclError aclrtFreeHost(void* data) {
  return guarded("aclrtFreeHost", [&] {
    fake::require(fake::pinned.erase(reinterpret_cast<uintptr_t>(data)) == 1,
                  "freed what is no live host allocation");
    fake::run_all();  // a queued copy may still read it
    std::free(data);
  });
}

aclError aclrtMemcpy(void* to, size_t room, const void* from, size_t bytes, aclrtMemcpyKind kind) {
  return guarded("aclrtMemcpy", [&] {
    fake::require(bytes <= room, "copies more bytes than the destination holds");
    fake::refuse_in_capture(nullptr);
    fake::run_all();
    fake::copy(to, from, bytes, kind);
  });
}

// Pinned host memory is read and written when the copy runs, pageable memory before this returns.
aclError aclrtMemcpyAsync(void* to, size_t room, const void* from, size_t bytes,
                          aclrtMemcpyKind kind, aclrtStream stream) {
  return guarded("aclrtMemcpyAsync", [&] {
    fake::require(bytes <= room, "copies more bytes than the destination holds");
    fake::Stream& queue = fake::stream_of(stream);
    const bool device_only = kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
    const void* host = kind == ACL_MEMCPY_HOST_TO_DEVICE ? from : to;
    const bool pageable = !device_only && !fake::is_pinned(host, bytes);
    if (pageable) fake::refuse_in_capture(&queue);
    enum class Copy { kQueued, kDone, kGivenUp };
    const auto state = std::make_shared<Copy>(Copy::kQueued);
    fake::launch(queue, {"aclrtMemcpyAsync",
                         [=] {
                           // the caller of a copy that failed may have freed its memory
                           if (*state == Copy::kGivenUp) return;
                           fake::copy(to, from, bytes, kind);
                           *state = Copy::kDone;
                         },
                         nullptr, nullptr});
    if (!pageable) return;
    try {
      fake::run_until([&] { return *state == Copy::kDone; }, "a copy of pageable memory");
    } catch (...) {
      *state = Copy::kGivenUp;
      throw;
    }
  });
}

aclError aclrtMemset(void* data, size_t room, int32_t value, size_t bytes) {
  return guarded("aclrtMemset", [&] {
    fake::require(bytes <= room, "sets more bytes than there are");
    fake::refuse_in_capture(nullptr);
    fake::run_all();
    fake::require(fake::on_device(data, bytes), "sets an address that is not on the device");
    std::memset(data, value, bytes);
  });
}

aclError aclrtMemsetAsync(void* data, size_t room, int32_t value, size_t bytes,
                          aclrtStream stream) {
  return guarded("aclrtMemsetAsync", [&] {
    fake::require(bytes <= room, "sets more bytes than there are");
    fake::launch(fake::stream_of(stream), {"aclrtMemsetAsync",
                                           [=] {
                                             fake::require(
                                                 fake::on_device(data, bytes),
                                                 "sets an address that is not on the device");
                                             std::memset(data, value, bytes);
                                           },
                                           nullptr, nullptr});
  });
}

aclError aclrtGetMemInfo(aclrtMemAttr, size_t* free, size_t* total) {
  return guarded("aclrtGetMemInfo", [&] {
    *total = fake::kDeviceBytes;
    *free = fake::kDeviceBytes - fake::bytes_in_use();
  });
}

aclError aclrtPointerGetAttributes(const void* data, aclrtPtrAttributes* attributes) {
  return guarded("aclrtPointerGetAttributes", [&] {
    std::memset(attributes, 0, sizeof *attributes);
    attributes->location.type = fake::on_device(data, 1)   ? ACL_MEM_LOCATION_TYPE_DEVICE
                                : fake::is_pinned(data, 1) ? ACL_MEM_LOCATION_TYPE_HOST
                                                           : ACL_MEM_LOCATION_TYPE_UNREGISTERED;
  });
}

}  // extern "C"
