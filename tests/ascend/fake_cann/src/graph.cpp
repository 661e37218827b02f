#include "graph.h"

#include <algorithm>
#include <thread>

#include "calls.h"
#include "failure.h"

namespace fake {
namespace {

std::vector<std::unique_ptr<Model>>& models() {
  static auto* all = new std::vector<std::unique_ptr<Model>>;
  return *all;
}

std::vector<std::unique_ptr<TaskGroup>>& groups() {
  static auto* all = new std::vector<std::unique_ptr<TaskGroup>>;
  return *all;
}

uint64_t next_model = 1;
thread_local aclmdlRICaptureMode thread_mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;

Model& model_of(aclmdlRI handle) {
  for (const auto& model : models()) {
    if (model.get() == handle) return *model;
  }
  throw Refused(kRuntime, "no such graph");
}

// A replay: every node once, in an order that its graph allows.
struct Replay final : Entry {
  std::vector<std::shared_ptr<Node>> nodes;
  std::vector<bool> ran;
  size_t left;

  explicit Replay(const Model& model)
      : nodes(model.nodes), ran(nodes.size(), false), left(nodes.size()) {}

  bool able(size_t i) const {
    if (ran[i]) return false;
    for (int before : nodes[i]->after) {
      if (!ran[static_cast<size_t>(before)]) return false;
    }
    return !nodes[i]->work.ready || nodes[i]->work.ready();
  }

  std::vector<size_t> candidates() const {
    std::vector<size_t> found;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!able(i)) continue;
      found.push_back(i);
      if (in_launch_order()) break;
    }
    return found;
  }

  bool ready() override { return left == 0 || !candidates().empty(); }

  bool step() override {
    if (left == 0) return true;
    const std::vector<size_t> found = candidates();
    const size_t i = found[in_launch_order() ? 0 : random_below(found.size())];
    ran[i] = true;
    --left;
    note_run(nodes[i]->work.name);
    nodes[i]->work.run();
    return left == 0;
  }

  void lose(const std::string& failure) override {
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!ran[i] && nodes[i]->work.lost) nodes[i]->work.lost(failure);
    }
  }
};

void leave_capture(Model& model) {
  for (Stream* stream : model.streams) {
    stream->capture = nullptr;
    stream->last_node = -1;
    stream->group = -1;
  }
}

// Whether everything that a stream recorded comes before a node of the origin.
bool joined(const Model& model, int node) {
  std::vector<bool> reached(model.nodes.size(), false);
  std::vector<int> open{node};
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    if (at < 0 || reached[static_cast<size_t>(at)]) continue;
    reached[static_cast<size_t>(at)] = true;
    for (int before : model.nodes[static_cast<size_t>(at)]->after) open.push_back(before);
  }
  return std::all_of(reached.begin(), reached.end(), [](bool r) { return r; });
}

void join(Stream& stream, Model& model) {
  if (stream.capture == &model) return;
  if (stream.capture != nullptr) throw Refused(kCaptured, "the stream is part of another graph");
  stream.capture = &model;
  stream.last_node = -1;
  model.streams.push_back(&stream);
}

}  // namespace

bool capturing() {
  for (const auto& model : models()) {
    if (!model->captured) return true;
  }
  return false;
}

bool unsafe_here() {
  if (thread_mode == ACL_MODEL_RI_CAPTURE_MODE_RELAXED) return false;
  for (const auto& model : models()) {
    if (model->captured || model->mode == ACL_MODEL_RI_CAPTURE_MODE_RELAXED) continue;
    if (model->mode == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) return true;
    if (model->thread == std::this_thread::get_id()) return true;
  }
  return false;
}

int record(Model& model, Stream& stream, Work work) {
  auto node = std::make_shared<Node>();
  node->work = std::move(work);
  if (stream.last_node >= 0) node->after.push_back(stream.last_node);
  node->group = stream.group;
  model.nodes.push_back(std::move(node));
  stream.last_node = static_cast<int>(model.nodes.size()) - 1;
  return stream.last_node;
}

void depend(Stream& stream, uint64_t graph, int node) {
  for (const auto& model : models()) {
    if (model->id != graph || model->captured) continue;
    join(stream, *model);
    if (node < 0) return;
    record(*model, stream, {"aclrtStreamWaitEvent", [] {}, nullptr, nullptr});
    model->nodes.back()->after.push_back(node);
    return;
  }
  throw Refused(kCaptured, "waits for an event that a finished graph recorded");
}

void replace(Stream& stream, Work work) {
  std::vector<std::shared_ptr<Node>> members;
  for (const auto& node : stream.updates->nodes) {
    if (node->group == stream.updated_group) members.push_back(node);
  }
  if (stream.updated >= members.size()) {
    throw Refused(kRuntime, "an update launches more than the " + std::to_string(members.size()) +
                                " calls of its task group");
  }
  std::shared_ptr<Node> node = members[stream.updated];
  if (node->work.name != work.name) {
    throw Refused(kRuntime, "an update launches " + work.name + " where the task group has " +
                                node->work.name);
  }
  ++stream.updated;
  // the update takes its place in the stream's order: a replay that is not ordered after it may
  // still see what was there before
  Model* target = stream.updates;
  stream.updates = nullptr;
  const auto update = [node, work] { node->work = work; };
  launch(stream,
         {"update " + work.name, update, nullptr, [update](const std::string&) { update(); }});
  stream.updates = target;
}

}  // namespace fake

using fake::guarded;

extern "C" {

aclError aclmdlRICaptureBegin(aclrtStream on, aclmdlRICaptureMode mode) {
  return guarded("aclmdlRICaptureBegin", [&] {
    fake::Stream& stream = fake::stream_of(on);
    if (stream.capture != nullptr) throw fake::Refused(fake::kCaptured, "already captured");
    auto model = std::make_unique<fake::Model>();
    model->id = fake::next_model++;
    model->origin = &stream;
    model->mode = mode;
    model->thread = std::this_thread::get_id();
    fake::join(stream, *model);
    fake::models().push_back(std::move(model));
  });
}

aclError aclmdlRICaptureGetInfo(aclrtStream on, aclmdlRICaptureStatus* status, aclmdlRI* model) {
  return guarded("aclmdlRICaptureGetInfo", [&] {
    fake::Stream& stream = fake::stream_of(on);
    *status = stream.capture != nullptr ? ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE
                                        : ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    if (model != nullptr) *model = stream.capture;
  });
}

aclError aclmdlRICaptureEnd(aclrtStream on, aclmdlRI* handle) {
  return guarded("aclmdlRICaptureEnd", [&] {
    fake::Stream& stream = fake::stream_of(on);
    fake::Model* model = stream.capture;
    if (model == nullptr || model->origin != &stream) {
      throw fake::Refused(fake::kCaptured, "ends a capture that did not begin on this stream");
    }
    const bool open_group = stream.group >= 0;
    const bool whole = fake::joined(*model, stream.last_node);
    fake::leave_capture(*model);
    model->captured = true;
    *handle = model;
    if (open_group) throw fake::Refused(fake::kCaptured, "a task group is still open");
    if (!whole) {
      throw fake::Refused(fake::kCaptured,
                          "a stream that joined the capture was not joined back to its first "
                          "stream: record an event there and wait for it");
    }
  });
}

aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode* mode) {
  std::swap(*mode, fake::thread_mode);
  return ACL_SUCCESS;
}

aclError aclmdlRIExecuteAsync(aclmdlRI handle, aclrtStream on) {
  return guarded("aclmdlRIExecuteAsync", [&] {
    fake::Model& model = fake::model_of(handle);
    fake::Stream& stream = fake::stream_of(on);
    if (!model.captured) throw fake::Refused(fake::kCaptured, "the graph is still being captured");
    fake::refuse_in_capture(&stream);
    fake::note_launch("aclmdlRIExecuteAsync", "\"graph\": " + std::to_string(model.id), stream,
                      stream.cube_limit, stream.vector_limit);
    fake::enqueue(stream, std::make_unique<fake::Replay>(model));
  });
}

// Replays in flight keep the nodes that they still need.
aclError aclmdlRIDestroy(aclmdlRI handle) {
  return guarded("aclmdlRIDestroy", [&] {
    fake::Model& model = fake::model_of(handle);
    auto& all = fake::models();
    all.erase(
        std::find_if(all.begin(), all.end(), [&](const auto& m) { return m.get() == &model; }));
  });
}

aclError aclmdlRIGetId(aclmdlRI handle, uint32_t* id) {
  return guarded("aclmdlRIGetId", [&] { *id = static_cast<uint32_t>(fake::model_of(handle).id); });
}

aclError aclmdlRICaptureTaskGrpBegin(aclrtStream on) {
  return guarded("aclmdlRICaptureTaskGrpBegin", [&] {
    fake::Stream& stream = fake::stream_of(on);
    if (stream.capture == nullptr) throw fake::Refused(fake::kCaptured, "not captured");
    if (stream.group >= 0) throw fake::Refused(fake::kCaptured, "a task group is already open");
    stream.group = stream.capture->groups++;
  });
}

aclError aclmdlRICaptureTaskGrpEnd(aclrtStream on, aclrtTaskGrp* handle) {
  return guarded("aclmdlRICaptureTaskGrpEnd", [&] {
    fake::Stream& stream = fake::stream_of(on);
    if (stream.capture == nullptr || stream.group < 0) {
      throw fake::Refused(fake::kCaptured, "no task group is open");
    }
    fake::groups().push_back(
        std::make_unique<fake::TaskGroup>(fake::TaskGroup{stream.capture, stream.group}));
    *handle = fake::groups().back().get();
    stream.group = -1;
  });
}

aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream on, aclrtTaskGrp handle) {
  return guarded("aclmdlRICaptureTaskUpdateBegin", [&] {
    fake::Stream& stream = fake::stream_of(on);
    auto* group = static_cast<fake::TaskGroup*>(handle);
    fake::Model& model = fake::model_of(group->model);
    if (!model.captured) throw fake::Refused(fake::kCaptured, "the graph is still being captured");
    fake::refuse_in_capture(&stream);
    if (stream.updates != nullptr) throw fake::Refused(fake::kRuntime, "an update is already open");
    stream.updates = &model;
    stream.updated_group = group->group;
    stream.updated = 0;
  });
}

aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream on) {
  return guarded("aclmdlRICaptureTaskUpdateEnd", [&] {
    fake::Stream& stream = fake::stream_of(on);
    if (stream.updates == nullptr) throw fake::Refused(fake::kRuntime, "no update is open");
    const auto members =
        std::count_if(stream.updates->nodes.begin(), stream.updates->nodes.end(),
                      [&](const auto& node) { return node->group == stream.updated_group; });
    const auto updated = static_cast<long>(stream.updated);
    stream.updates = nullptr;
    if (updated != members) {
      throw fake::Refused(fake::kRuntime, "an update launched " + std::to_string(updated) +
                                              " calls, its task group has " +
                                              std::to_string(members));
    }
  });
}

// For kernels of our own: the generated aclrtlaunch_<kernel> hands its run and arguments here.
int fake_acl_launch(void* on, void (*run)(const void*), const void* blob, size_t bytes) {
  return guarded("fake_acl_launch", [&] {
    fake::Stream& stream = fake::stream_of(on);
    const auto* from = static_cast<const unsigned char*>(blob);
    std::vector<unsigned char> arguments(from, from + bytes);
    fake::note_launch("fake_acl_launch", "\"bytes\": " + std::to_string(bytes), stream,
                      stream.cube_limit, stream.vector_limit);
    fake::launch(
        stream, {"fake_acl_launch", [run, arguments] { run(arguments.data()); }, nullptr, nullptr});
  });
}

}  // extern "C"
