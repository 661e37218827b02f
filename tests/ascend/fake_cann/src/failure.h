// How calls refuse: an exception inside the fake, an error code and a message at its border.
#pragma once

#include <mutex>
#include <stdexcept>
#include <string>

namespace fake {

// Refused by the documents of the call: what was given, what is allowed.
constexpr int kParam = 161002;
// The name exists, the fake has no body for it.
constexpr int kUnimplemented = 561103;
// Misuse of handles, capture and order, as the runtime reports it.
constexpr int kRuntime = 107000;
constexpr int kCaptured = 107027;
// A launch failed when the device came to run it.
constexpr int kDevice = 507015;

struct Refused : std::runtime_error {
  int code;
  Refused(int code_, const std::string& why) : std::runtime_error(why), code(code_) {}
};

[[noreturn]] inline void refuse(const std::string& why) { throw Refused(kParam, why); }

inline void require(bool holds, const std::string& why) {
  if (!holds) refuse(why);
}

// One lock for everything: calls may come from several threads, and any of them runs queued work.
std::recursive_mutex& lock();

// Keeps the message for aclGetRecentErrMsg and gives back the code.
int fail(int code, const std::string& message);

template <class Body>
int guarded(const char* call, Body body) {
  std::lock_guard<std::recursive_mutex> hold(lock());
  try {
    body();
    return 0;
  } catch (const Refused& e) {
    return fail(e.code, std::string(call) + ": " + e.what());
  } catch (const std::exception& e) {  // a fault that a kernel of our own ran into
    return fail(kDevice, std::string(call) + ": " + e.what());
  }
}

}  // namespace fake
