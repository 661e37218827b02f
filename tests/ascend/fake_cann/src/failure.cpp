#include "failure.h"

#include <cstdio>
#include <cstdlib>

#include "calls.h"

namespace fake {
namespace {

thread_local std::string recent;

}  // namespace

std::recursive_mutex& lock() {
  static auto* mutex = new std::recursive_mutex;  // outlives static destructors of other libraries
  return *mutex;
}

int fail(int code, const std::string& message) {
  recent = "fake CANN: " + message;
  note_failure(message);
  if (std::getenv("XGR_FAKE_CANN_TRACE") != nullptr) std::fprintf(stderr, "%s\n", recent.c_str());
  return code;
}

}  // namespace fake

extern "C" {

// Every generated stub ends here.
int fake_cann_unimplemented(const char* name) {
  std::lock_guard<std::recursive_mutex> hold(fake::lock());
  return fake::fail(
      fake::kUnimplemented,
      std::string(name) + " is not implemented; write it in tests/ascend/fake_cann/src");
}

const char* aclGetRecentErrMsg() { return fake::recent.c_str(); }

}  // extern "C"
