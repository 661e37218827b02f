// How an aclnn call is written here.
//
// ACLNN(name, (parameters), (the same names)) { checks; return a closure that computes; }
// exports name##GetWorkspaceSize and name. Checks throw Refused and make the first of the two fail,
// as the real one does; the closure runs when the device comes to it and holds Views, never
// the argument objects.
#pragma once

#include <functional>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "failure.h"
#include "tensor.h"

namespace fake {
struct Plan;
}
struct aclOpExecutor;

namespace fake {

using In = const aclTensor*;
using Out = const aclTensor*;
using Num = const aclScalar*;
using Ints = const aclIntArray*;
using Bools = const aclBoolArray*;
using List = const aclTensorList*;
using Run = std::function<void()>;

// What a call was given: for the log, and for checks that hold for every call.
struct Arguments {
  std::vector<std::string> names;
  std::ostringstream text;
  std::vector<View> tensors;
  size_t next = 0;

  explicit Arguments(const std::string& joined);
  void add(const aclTensor* tensor);
  void add(const aclTensorList* list);
  void add(const aclScalar* scalar);
  void add(const aclIntArray* array);
  void add(const aclBoolArray* array);
  void add(const char* string);
  void add(char* string) { add(static_cast<const char*>(string)); }
  template <class T>
  std::enable_if_t<std::is_arithmetic_v<T> || std::is_enum_v<T>> add(T value) {
    begin() << +static_cast<std::conditional_t<std::is_enum_v<T>, int, T>>(value);
  }

 private:
  std::ostringstream& begin();
};

int plan(const char* name, uint64_t* workspace, aclOpExecutor** executor, Arguments& arguments,
         const std::function<Run()>& make);
int execute(const char* name, void* workspace, uint64_t bytes, aclOpExecutor* executor,
            aclrtStream stream);

// Bytes of workspace that the call being planned asks for, and the most for any lengths within its
// shapes; none unless it says so.
void ask_workspace(uint64_t bytes, uint64_t most);

// The same checks, for name##GetMaxWorkspaceSize; its executor is only to be destroyed.
int most_workspace(const char* name, uint64_t* bytes, aclOpExecutor** executor,
                   Arguments& arguments, const std::function<Run()>& make);

inline View need(const aclTensor* tensor, const char* what) {
  require(tensor != nullptr, std::string(what) + " is not given");
  return View(tensor);
}

inline void absent(const aclTensor* tensor, const char* what) {
  require(tensor == nullptr, std::string(what) + " is given; the fake CANN does not know it");
}

}  // namespace fake

#define FAKE_UNPACK(...) __VA_ARGS__

// Also exports name##GetMaxWorkspaceSize.
#define ACLNN_MOST(NAME, PARAMETERS, NAMES)                                                   \
  static fake::Run NAME##Plan PARAMETERS;                                                     \
  extern "C" int NAME##GetMaxWorkspaceSize(FAKE_UNPACK PARAMETERS, uint64_t* workspace_bytes, \
                                           aclOpExecutor** executor) {                        \
    fake::Arguments arguments(#NAMES);                                                        \
    const auto add = [&](auto... each) { (arguments.add(each), ...); };                       \
    add NAMES;                                                                                \
    return fake::most_workspace(#NAME, workspace_bytes, executor, arguments,                  \
                                [&] { return NAME##Plan NAMES; });                            \
  }                                                                                           \
  ACLNN(NAME, PARAMETERS, NAMES)

#define ACLNN(NAME, PARAMETERS, NAMES)                                                     \
  static fake::Run NAME##Plan PARAMETERS;                                                  \
  extern "C" int NAME##GetWorkspaceSize(FAKE_UNPACK PARAMETERS, uint64_t* workspace_bytes, \
                                        aclOpExecutor** executor) {                        \
    fake::Arguments arguments(#NAMES);                                                     \
    const auto add = [&](auto... each) { (arguments.add(each), ...); };                    \
    add NAMES;                                                                             \
    return fake::plan(#NAME, workspace_bytes, executor, arguments,                         \
                      [&] { return NAME##Plan NAMES; });                                   \
  }                                                                                        \
  extern "C" int NAME(void* workspace, uint64_t bytes, aclOpExecutor* executor,            \
                      aclrtStream stream) {                                                \
    return fake::execute(#NAME, workspace, bytes, executor, stream);                       \
  }                                                                                        \
  static fake::Run NAME##Plan PARAMETERS
