#include "op.h"

#include <memory>

#include "calls.h"
#include "device.h"
#include "memory.h"
#include "stream.h"

// What phase one makes and phase two launches.
struct aclOpExecutor {
  std::string name;
  fake::Run run;
  std::string arguments;
  uint64_t workspace = 0;
  uint32_t cube_cores = 0;
  uint32_t vector_cores = 0;
};

namespace fake {
namespace {

thread_local uint64_t asked = 0;
thread_local uint64_t asked_most = 0;

// Element offsets that a view reaches: the lowest, and one past the highest.
std::pair<int64_t, int64_t> extent(const View& view) {
  int64_t low = 0;
  int64_t high = 0;
  for (size_t i = 0; i < view.dims.size(); ++i) {
    const int64_t reach = (view.dims[i] - 1) * view.strides[i];
    (reach < 0 ? low : high) += reach;
  }
  return {low, high + 1};
}

void check_memory(const std::string& name, const std::vector<View>& tensors) {
  for (const View& view : tensors) {
    if (view.size() == 0) continue;
    const auto [low, high] = extent(view);
    const size_t bytes = static_cast<size_t>(high - low) * size_of(view.dtype);
    if (!on_device(view.at(low), bytes)) {
      throw Refused(kDevice, name + " got a tensor " + view.shape() +
                                 " that does not lie in live device memory");
    }
  }
}

}  // namespace

Arguments::Arguments(const std::string& joined) {
  std::string name;
  for (char c : joined) {
    if (c == '(' || c == ' ') continue;
    if (c == ',' || c == ')') {
      names.push_back(name);
      name.clear();
    } else {
      name += c;
    }
  }
}

std::ostringstream& Arguments::begin() {
  if (next != 0) text << ", ";
  text << '"' << names[next++] << "\": ";
  return text;
}

void Arguments::add(const aclTensor* tensor) {
  std::ostringstream& out = begin();
  if (tensor == nullptr) {
    out << "null";
    return;
  }
  tensors.emplace_back(tensor);
  const View& view = tensors.back();
  out << "{\"dtype\": \"" << name_of(view.dtype) << "\", \"shape\": " << fake::text(view.dims)
      << ", \"strides\": " << fake::text(view.strides) << "}";
}

void Arguments::add(const aclTensorList* list) {
  std::ostringstream& out = begin();
  if (list == nullptr) {
    out << "null";
    return;
  }
  out << "[";
  for (size_t i = 0; i < list->items.size(); ++i) {
    tensors.emplace_back(list->items[i]);
    const View& view = tensors.back();
    if (!view.given) refuse("a list holds no tensor at place " + std::to_string(i));
    out << (i != 0 ? ", " : "") << "{\"dtype\": \"" << name_of(view.dtype)
        << "\", \"shape\": " << fake::text(view.dims) << "}";
  }
  out << "]";
}

void Arguments::add(const aclScalar* scalar) {
  if (scalar == nullptr) {
    begin() << "null";
  } else {
    begin() << '"' << scalar->real << '"';
  }
}

void Arguments::add(const aclIntArray* array) {
  if (array == nullptr) {
    begin() << "null";
  } else {
    begin() << fake::text(array->values);
  }
}

void Arguments::add(const aclBoolArray* array) {
  begin() << (array == nullptr ? "null" : "\"flags\"");
}

void Arguments::add(const char* string) {
  begin() << '"' << (string == nullptr ? "" : string) << '"';
}

void ask_workspace(uint64_t bytes, uint64_t most) {
  asked = bytes;
  asked_most = most;
}

int plan(const char* name, uint64_t* workspace, aclOpExecutor** executor, Arguments& arguments,
         const std::function<Run()>& make) {
  return guarded(name, [&] {
    asked = 0;
    auto made = std::make_unique<aclOpExecutor>();
    made->name = name;
    const Run body = make();
    made->run = [label = made->name, tensors = arguments.tensors, body] {
      check_memory(label, tensors);
      body();
    };
    made->arguments = arguments.text.str();
    made->workspace = asked;
    made->cube_cores = cube_cores_now();
    made->vector_cores = vector_cores_now();
    *workspace = asked;
    *executor = made.release();
  });
}

int most_workspace(const char* name, uint64_t* bytes, aclOpExecutor** executor,
                   Arguments& arguments, const std::function<Run()>& make) {
  const int code = plan(name, bytes, executor, arguments, make);
  if (code == 0) *bytes = asked_most;
  return code;
}

int execute(const char* name, void* workspace, uint64_t bytes, aclOpExecutor* executor,
            aclrtStream on) {
  return guarded(name, [&] {
    require(executor != nullptr, "launched without an executor: its first phase failed");
    const std::unique_ptr<aclOpExecutor> owned(executor);
    require(owned->name == name, "launched with the executor of " + owned->name);
    require(bytes >= owned->workspace, "needs a workspace of " + std::to_string(owned->workspace) +
                                           " bytes, got " + std::to_string(bytes));
    if (owned->workspace != 0) {
      require(on_device(workspace, owned->workspace), "the workspace is not device memory");
      // what a launch leaves in its workspace is no one's: nothing may be kept there
      owned->run = [run = owned->run, workspace, n = owned->workspace] {
        poison(workspace, n);
        run();
      };
    }
    Stream& stream = stream_of(on);
    note_launch(owned->name, owned->arguments, stream, owned->cube_cores, owned->vector_cores);
    launch(stream, {owned->name, owned->run, nullptr, nullptr});
  });
}

}  // namespace fake

extern "C" int aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  delete executor;
  return 0;
}
