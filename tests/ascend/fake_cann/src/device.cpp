#include "device.h"

#include <cstdarg>
#include <cstdlib>
#include <cstring>

#include "acl/acl.h"
#include "acl/acl_op_compiler.h"
#include "failure.h"
#include "stream.h"

namespace fake {
namespace {

constexpr Soc kSocs[] = {
    {"Ascend910B1", 24, 48},
    {"Ascend910B3", 20, 40},
    {"Ascend910_9382", 24, 48},
};

thread_local Stream* limits_of = nullptr;  // the stream whose core limits this thread's calls use

uint32_t cores(const Stream* stream, aclrtDevResLimitType type) {
  const uint32_t all = type == ACL_RT_DEV_RES_CUBE_CORE ? soc().cube_cores : soc().vector_cores;
  if (stream == nullptr) return all;
  const uint32_t limit =
      type == ACL_RT_DEV_RES_CUBE_CORE ? stream->cube_limit : stream->vector_limit;
  return limit != 0 ? limit : all;
}

}  // namespace

const Soc& soc() {
  static const Soc& chosen = []() -> const Soc& {
    const char* name = std::getenv("XGR_FAKE_SOC");
    if (name == nullptr) return kSocs[0];
    for (const Soc& known : kSocs) {
      if (std::strcmp(known.name, name) == 0) return known;
    }
    std::fprintf(stderr,
                 "XGR_FAKE_SOC=%s: the fake CANN knows Ascend910B1, Ascend910B3 and "
                 "Ascend910_9382\n",
                 name);
    std::exit(2);
  }();
  return chosen;
}

uint32_t cube_cores_now() { return cores(limits_of, ACL_RT_DEV_RES_CUBE_CORE); }
uint32_t vector_cores_now() { return cores(limits_of, ACL_RT_DEV_RES_VECTOR_CORE); }

}  // namespace fake

using fake::guarded;

extern "C" {

aclError aclInit(const char*) { return ACL_SUCCESS; }
aclError aclFinalize() { return ACL_SUCCESS; }

aclError aclrtGetDeviceCount(uint32_t* count) {
  *count = 1;
  return ACL_SUCCESS;
}

aclError aclrtGetDevice(int32_t* device) {
  *device = 0;
  return ACL_SUCCESS;
}

aclError aclrtSetDevice(int32_t device) {
  return guarded("aclrtSetDevice", [&] { fake::require(device == 0, "there is one device, 0"); });
}

aclError aclrtResetDevice(int32_t) { return ACL_SUCCESS; }

aclError aclrtGetPrimaryCtxState(int32_t, uint32_t* flags, int32_t* active) {
  if (flags != nullptr) *flags = 0;
  *active = 1;
  return ACL_SUCCESS;
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  static int one;
  *context = &one;
  return ACL_SUCCESS;
}

aclError aclrtSetCurrentContext(aclrtContext) { return ACL_SUCCESS; }

const char* aclrtGetSocName() { return fake::soc().name; }

aclError aclGetDeviceCapability(uint32_t, aclDeviceInfo info, int64_t* value) {
  return guarded("aclGetDeviceCapability", [&] {
    switch (info) {
      case ACL_DEVICE_INFO_AI_CORE_NUM:
        *value = fake::soc().cube_cores;
        return;
      case ACL_DEVICE_INFO_VECTOR_CORE_NUM:
        *value = fake::soc().vector_cores;
        return;
      case ACL_DEVICE_INFO_L2_SIZE:
        *value = fake::kL2Bytes;
        return;
      default:
        fake::refuse("unknown information " + std::to_string(info));
    }
  });
}

aclError aclrtGetDeviceInfo(uint32_t, aclrtDevAttr attribute, int64_t* value) {
  return guarded("aclrtGetDeviceInfo", [&] {
    switch (attribute) {
      case ACL_DEV_ATTR_AICORE_CORE_NUM:
      case ACL_DEV_ATTR_CUBE_CORE_NUM:
        *value = fake::soc().cube_cores;
        return;
      case ACL_DEV_ATTR_VECTOR_CORE_NUM:
        *value = fake::soc().vector_cores;
        return;
      case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE:
        *value = fake::kDeviceBytes;
        return;
      case ACL_DEV_ATTR_L2_CACHE_SIZE:
        *value = fake::kL2Bytes;
        return;
      default:
        fake::refuse("unknown attribute " + std::to_string(attribute));
    }
  });
}

// Infinities and NaN are kept, bfloat16 is there, ops are compiled ahead of time.
aclError aclGetCannAttribute(aclCannAttr attribute, int32_t* value) {
  *value = attribute != ACL_CANN_ATTR_JIT_COMPILE;
  return ACL_SUCCESS;
}

aclError aclrtDeviceCanAccessPeer(int32_t* can, int32_t, int32_t) {
  *can = 0;
  return ACL_SUCCESS;
}

aclError aclrtDeviceGetUuid(int32_t, aclrtUuid* uuid) {
  std::memset(uuid, 0, sizeof *uuid);
  return ACL_SUCCESS;
}

// -- core limits ------------------------------------------------------------------------------

aclError aclrtGetDeviceResLimit(int32_t, aclrtDevResLimitType type, uint32_t* value) {
  *value = fake::cores(nullptr, type);
  return ACL_SUCCESS;
}

aclError aclrtSetStreamResLimit(aclrtStream on, aclrtDevResLimitType type, uint32_t value) {
  return guarded("aclrtSetStreamResLimit", [&] {
    fake::Stream& stream = fake::stream_of(on);
    const uint32_t all = fake::cores(nullptr, type);
    fake::require(value >= 1 && value <= all, "a limit of " + std::to_string(value) +
                                                  " cores, the device has " + std::to_string(all));
    (type == ACL_RT_DEV_RES_CUBE_CORE ? stream.cube_limit : stream.vector_limit) = value;
  });
}

aclError aclrtGetStreamResLimit(aclrtStream on, aclrtDevResLimitType type, uint32_t* value) {
  return guarded("aclrtGetStreamResLimit",
                 [&] { *value = fake::cores(&fake::stream_of(on), type); });
}

aclError aclrtResetStreamResLimit(aclrtStream on) {
  return guarded("aclrtResetStreamResLimit", [&] {
    fake::stream_of(on).cube_limit = 0;
    fake::stream_of(on).vector_limit = 0;
  });
}

aclError aclrtUseStreamResInCurrentThread(aclrtStream on) {
  return guarded("aclrtUseStreamResInCurrentThread",
                 [&] { fake::limits_of = &fake::stream_of(on); });
}

aclError aclrtUnuseStreamResInCurrentThread(aclrtStream) {
  fake::limits_of = nullptr;
  return ACL_SUCCESS;
}

aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value) {
  *value = fake::cores(fake::limits_of, type);
  return ACL_SUCCESS;
}

// -- settings that change nothing here ----------------------------------------------------------

aclError aclrtSetOpWaitTimeout(uint32_t) { return ACL_SUCCESS; }
aclError aclrtSetOpExecuteTimeOut(uint32_t) { return ACL_SUCCESS; }
aclError aclrtSetOpExecuteTimeOutV2(uint64_t wanted, uint64_t* actual) {
  if (actual != nullptr) *actual = wanted;
  return ACL_SUCCESS;
}
aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode) { return ACL_SUCCESS; }
aclError aclrtSetStreamFailureMode(aclrtStream, uint64_t) { return ACL_SUCCESS; }
aclError aclrtSetStreamOverflowSwitch(aclrtStream, uint32_t) { return ACL_SUCCESS; }
aclError aclrtSetStreamAttribute(aclrtStream, aclrtStreamAttr, aclrtStreamAttrValue*) {
  return ACL_SUCCESS;
}
aclError aclrtCtxSetSysParamOpt(aclSysParamOpt, int64_t) { return ACL_SUCCESS; }
aclError aclrtSetSysParamOpt(aclSysParamOpt, int64_t) { return ACL_SUCCESS; }
aclError aclrtGetSysParamOpt(aclSysParamOpt, int64_t* value) {
  *value = 0;
  return ACL_SUCCESS;
}
aclError aclSetCompileopt(aclCompileOpt, const char*) { return ACL_SUCCESS; }
size_t aclGetCompileoptSize(aclCompileOpt) { return 8; }
aclError aclGetCompileopt(aclCompileOpt, char* value, size_t room) {
  std::strncpy(value, "disable", room);
  return ACL_SUCCESS;
}
// The older way to run an op, through the graph engine. Nothing here computes that way.
aclError aclopCompileAndExecute(const char* op, int, const aclTensorDesc* const[],
                                const aclDataBuffer* const[], int, const aclTensorDesc* const[],
                                aclDataBuffer* const[], const aclopAttr*, aclopEngineType,
                                aclopCompileType, const char*, aclrtStream) {
  return fake::fail(fake::kUnimplemented,
                    std::string("aclopCompileAndExecute of ") + op + " is not implemented");
}
aclError aclopCompileAndExecuteV2(const char* op, int, aclTensorDesc*[], aclDataBuffer*[], int,
                                  aclTensorDesc*[], aclDataBuffer*[], aclopAttr*, aclopEngineType,
                                  aclopCompileType, const char*, aclrtStream) {
  return fake::fail(fake::kUnimplemented,
                    std::string("aclopCompileAndExecuteV2 of ") + op + " is not implemented");
}
aclError aclmdlInitDump() { return ACL_SUCCESS; }
aclError aclmdlFinalizeDump() { return ACL_SUCCESS; }
void aclAppLog(aclLogLevel, const char*, const char*, uint32_t, const char*, ...) {}
aclError aclrtPeekAtLastError(aclrtLastErrLevel) { return ACL_SUCCESS; }
aclError aclrtGetLastError(aclrtLastErrLevel) { return ACL_SUCCESS; }

// The profiler registers itself when torch_npu is imported; nothing profiles here.
int MsprofRegisterCallback(uint32_t, void*) { return 0; }
uint64_t MsprofGetHashId(const char*, size_t) { return 0; }
uint64_t MsprofSysCycleTime() { return 0; }
int MsprofReportApi(uint32_t, const void*) { return 0; }
int MsprofReportCompactInfo(uint32_t, const void*, uint32_t) { return 0; }
int MsprofReportAdditionalInfo(uint32_t, const void*, uint32_t) { return 0; }

}  // extern "C"
