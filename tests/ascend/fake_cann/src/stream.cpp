#include "stream.h"

#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "calls.h"
#include "failure.h"
#include "graph.h"
#include "memory.h"

namespace fake {
namespace {

std::vector<std::unique_ptr<Stream>>& streams() {
  static auto* all = [] {
    auto* made = new std::vector<std::unique_ptr<Stream>>;
    made->push_back(std::make_unique<Stream>());  // the default stream
    return made;
  }();
  return *all;
}

// Queued work holds the events that it names, so that they may be destroyed before it runs.
std::map<const void*, std::shared_ptr<Event>>& events() {
  static auto* all = new std::map<const void*, std::shared_ptr<Event>>;
  return *all;
}

// Steps that a stream keeps its rank for, on average.
constexpr uint64_t kStretch = 64;

int next_stream = 1;
uint64_t next_sequence = 1;

uint64_t first_seed() {
  const char* seed = std::getenv("XGR_FAKE_CANN_SEED");
  return seed != nullptr ? std::strtoull(seed, nullptr, 10) : 0;
}

uint64_t seed = first_seed();
std::mt19937_64 generator(seed);

struct Single final : Entry {
  Work work;
  explicit Single(Work w) : work(std::move(w)) {}
  bool ready() override { return !work.ready || work.ready(); }
  bool step() override {
    note_run(work.name);
    work.run();
    return true;
  }
  void lose(const std::string& failure) override {
    if (work.lost) work.lost(failure);
  }
};

void take_down(Stream& failed, const std::string& failure) {
  failed.failure = failure;
  for (const auto& stream : streams()) {
    if (stream->queue.empty()) continue;
    stream->failure = failure;
    std::deque<std::unique_ptr<Entry>> lost;
    lost.swap(stream->queue);
    for (const auto& entry : lost) entry->lose(failure);
  }
}

void forget_failures() {
  for (const auto& stream : streams()) stream->failure.clear();
}

void tell(std::string& failure) {
  if (failure.empty()) return;
  std::string told;
  told.swap(failure);
  throw Refused(kDevice, told);
}

// Runs one step of one stream; false when none can.
bool step() {
  std::vector<Stream*> able;
  for (const auto& stream : streams()) {
    if (!stream->queue.empty() && stream->queue.front()->ready()) able.push_back(stream.get());
  }
  if (able.empty()) return false;
  Stream* chosen = able.front();
  if (in_launch_order()) {
    for (Stream* stream : able) {
      if (stream->queue.front()->sequence < chosen->queue.front()->sequence) chosen = stream;
    }
  } else {
    for (Stream* stream : able) {
      if (random_below(kStretch) == 0) stream->rank = random_below(UINT64_MAX);
      if (stream->rank > chosen->rank) chosen = stream;
    }
  }
  bool done = true;
  try {
    done = chosen->queue.front()->step();
  } catch (const std::exception& error) {
    chosen->queue.pop_front();
    take_down(*chosen, error.what());
    throw;
  }
  if (done) chosen->queue.pop_front();
  return true;
}

bool idle() {
  for (const auto& stream : streams()) {
    if (!stream->queue.empty()) return false;
  }
  return true;
}

std::shared_ptr<Event> event_of(aclrtEvent handle) {
  const auto found = events().find(handle);
  if (found == events().end()) throw Refused(kRuntime, "no such event");
  return found->second;
}

double now_ms() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(time).count();
}

}  // namespace

bool in_launch_order() { return seed == 0; }

void set_order(uint64_t value) {
  seed = value;
  generator.seed(value);
  for (const auto& stream : streams()) stream->rank = random_below(UINT64_MAX);
}

uint64_t random_below(uint64_t n) { return generator() % n; }

Stream& stream_of(aclrtStream handle) {
  if (handle == nullptr) return *streams().front();
  for (const auto& stream : streams()) {
    if (stream.get() == handle) return *stream;
  }
  throw Refused(kRuntime, "no such stream");
}

void enqueue(Stream& stream, std::unique_ptr<Entry> entry) {
  entry->sequence = next_sequence++;
  stream.queue.push_back(std::move(entry));
}

void launch(Stream& stream, Work work) {
  if (stream.updates != nullptr) {
    replace(stream, std::move(work));
  } else if (stream.capture != nullptr) {
    record(*stream.capture, stream, std::move(work));
  } else {
    enqueue(stream, std::make_unique<Single>(std::move(work)));
  }
}

void run_until(const std::function<bool()>& holds, const char* what) {
  while (!holds()) {
    if (!step()) {
      throw Refused(kRuntime, std::string("the device would wait for ever: ") + what +
                                  " needs an event or a value that nothing queued will set");
    }
  }
}

void run_all() {
  try {
    run_until(idle, "the device");
    for (const auto& stream : streams()) tell(stream->failure);
  } catch (...) {
    forget_failures();
    throw;
  }
  check_red_zones();
}

void run_some() { step(); }

void refuse_in_capture(const Stream* stream) {
  if (stream != nullptr ? stream->capture != nullptr : unsafe_here()) {
    throw Refused(kCaptured, "not allowed while a graph is captured");
  }
}

}  // namespace fake

using fake::guarded;

extern "C" {

void fake_cann_order(uint64_t seed) {
  std::lock_guard<std::recursive_mutex> hold(fake::lock());
  fake::set_order(seed);
}

aclError aclrtCreateStream(aclrtStream* stream) {
  return guarded("aclrtCreateStream", [&] {
    auto made = std::make_unique<fake::Stream>();
    made->id = fake::next_stream++;
    made->rank = fake::random_below(UINT64_MAX);
    *stream = made.get();
    fake::streams().push_back(std::move(made));
  });
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t, uint32_t) {
  return aclrtCreateStream(stream);
}

aclError aclrtDestroyStream(aclrtStream handle) {
  return guarded("aclrtDestroyStream", [&] {
    fake::Stream& stream = fake::stream_of(handle);
    fake::refuse_in_capture(&stream);
    fake::run_until([&] { return stream.queue.empty(); }, "a stream that is destroyed");
    auto& all = fake::streams();
    for (auto at = all.begin(); at != all.end(); ++at) {
      if (at->get() == &stream) {
        all.erase(at);
        return;
      }
    }
  });
}

aclError aclrtDestroyStreamForce(aclrtStream stream) { return aclrtDestroyStream(stream); }

aclError aclrtSynchronizeStream(aclrtStream handle) {
  return guarded("aclrtSynchronizeStream", [&] {
    fake::Stream& stream = fake::stream_of(handle);
    fake::refuse_in_capture(&stream);
    try {
      fake::run_until([&] { return stream.queue.empty(); }, "a stream that is synchronised");
    } catch (...) {
      stream.failure.clear();
      throw;
    }
    fake::tell(stream.failure);
    fake::check_red_zones();
  });
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t) {
  return aclrtSynchronizeStream(stream);
}

aclError aclrtSynchronizeDevice() {
  return guarded("aclrtSynchronizeDevice", [&] {
    // a captured stream is part of the device, whichever thread captures it
    if (fake::capturing()) {
      throw fake::Refused(fake::kCaptured, "not allowed while a graph is captured");
    }
    fake::run_all();
  });
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t) { return aclrtSynchronizeDevice(); }

aclError aclrtStreamQuery(aclrtStream handle, aclrtStreamStatus* status) {
  return guarded("aclrtStreamQuery", [&] {
    fake::Stream& stream = fake::stream_of(handle);
    fake::refuse_in_capture(&stream);
    if (!stream.queue.empty()) fake::run_some();
    *status = stream.queue.empty() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
  });
}

aclError aclrtStreamGetId(aclrtStream handle, int32_t* id) {
  return guarded("aclrtStreamGetId", [&] { *id = fake::stream_of(handle).id; });
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  return guarded("aclrtCreateEventWithFlag", [&] {
    auto made = std::make_shared<fake::Event>();
    made->flags = flag;
    *event = made.get();
    fake::events()[made.get()] = made;
  });
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  return aclrtCreateEventWithFlag(event, flag);
}

aclError aclrtDestroyEvent(aclrtEvent handle) {
  return guarded("aclrtDestroyEvent", [&] {
    fake::event_of(handle);
    fake::events().erase(handle);
  });
}

aclError aclrtRecordEvent(aclrtEvent handle, aclrtStream on) {
  return guarded("aclrtRecordEvent", [&] {
    const std::shared_ptr<fake::Event> event = fake::event_of(handle);
    fake::Stream& stream = fake::stream_of(on);
    fake::require(stream.updates == nullptr, "an event is recorded inside a task update");
    const bool external = (event->flags & ACL_EVENT_EXTERNAL) != 0;
    if (stream.capture != nullptr && !external) {
      event->captured_in = stream.capture->id;
      event->captured_node = stream.last_node;
      return;
    }
    event->captured_in = 0;
    const uint64_t number = ++event->recorded;
    event->failure.clear();
    const auto happens = [event, number] {
      event->done = number;
      event->done_ms = fake::now_ms();
    };
    fake::launch(stream, {"aclrtRecordEvent", happens, nullptr,
                          [event, happens](const std::string& failure) {
                            happens();
                            event->failure = failure;
                          }});
  });
}

aclError aclrtStreamWaitEvent(aclrtStream on, aclrtEvent handle) {
  return guarded("aclrtStreamWaitEvent", [&] {
    const std::shared_ptr<fake::Event> event = fake::event_of(handle);
    fake::Stream& stream = fake::stream_of(on);
    fake::require(stream.updates == nullptr, "an event is waited for inside a task update");
    if (event->captured_in != 0) {
      fake::depend(stream, event->captured_in, event->captured_node);
      return;
    }
    if (stream.capture != nullptr && (event->flags & ACL_EVENT_EXTERNAL) == 0) {
      throw fake::Refused(fake::kCaptured,
                          "a captured stream waits for an event that was recorded outside the "
                          "graph; make it an external event");
    }
    const uint64_t number = event->recorded;
    fake::launch(stream, {"aclrtStreamWaitEvent", [] {},
                          [event, number] { return event->done >= number; }, nullptr});
  });
}

aclError aclrtResetEvent(aclrtEvent handle, aclrtStream on) {
  return guarded("aclrtResetEvent", [&] {
    const std::shared_ptr<fake::Event> event = fake::event_of(handle);
    fake::launch(fake::stream_of(on),
                 {"aclrtResetEvent", [event] { event->done = 0; }, nullptr, nullptr});
  });
}

aclError aclrtSynchronizeEvent(aclrtEvent handle) {
  return guarded("aclrtSynchronizeEvent", [&] {
    const std::shared_ptr<fake::Event> event = fake::event_of(handle);
    if (event->captured_in != 0) {
      throw fake::Refused(fake::kCaptured, "the host waits for an event that a graph recorded");
    }
    const uint64_t number = event->recorded;
    fake::run_until([&] { return event->done >= number; }, "an event that is synchronised");
    if (!event->failure.empty()) throw fake::Refused(fake::kDevice, event->failure);
    fake::check_red_zones();
  });
}

// Time passes between two queries, so each lets the device take a step.
aclError aclrtQueryEventStatus(aclrtEvent handle, aclrtEventRecordedStatus* status) {
  return guarded("aclrtQueryEventStatus", [&] {
    const std::shared_ptr<fake::Event> event = fake::event_of(handle);
    if (event->done < event->recorded) fake::run_some();
    if (!event->failure.empty()) throw fake::Refused(fake::kDevice, event->failure);
    *status = event->done < event->recorded ? ACL_EVENT_RECORDED_STATUS_NOT_READY
                                            : ACL_EVENT_RECORDED_STATUS_COMPLETE;
  });
}

aclError aclrtQueryEventWaitStatus(aclrtEvent handle, aclrtEventWaitStatus* status) {
  return guarded("aclrtQueryEventWaitStatus", [&] {
    fake::event_of(handle);
    *status = ACL_EVENT_WAIT_STATUS_COMPLETE;
  });
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent first, aclrtEvent second) {
  return guarded("aclrtEventElapsedTime", [&] {
    const std::shared_ptr<fake::Event> from = fake::event_of(first);
    const std::shared_ptr<fake::Event> to = fake::event_of(second);
    fake::require(from->done != 0 && to->done != 0, "an event has not happened");
    *ms = static_cast<float>(to->done_ms - from->done_ms);
  });
}

aclError aclrtEventGetTimestamp(aclrtEvent handle, uint64_t* microseconds) {
  return guarded("aclrtEventGetTimestamp", [&] {
    *microseconds = static_cast<uint64_t>(fake::event_of(handle)->done_ms * 1000);
  });
}

aclError aclrtValueWrite(void* data, uint64_t value, uint32_t, aclrtStream stream) {
  return guarded("aclrtValueWrite", [&] {
    const auto write = [=] { *static_cast<uint64_t*>(data) = value; };
    fake::launch(fake::stream_of(stream),
                 {"aclrtValueWrite", write, nullptr, [write](const std::string&) { write(); }});
  });
}

aclError aclrtValueWait(void* data, uint64_t value, uint32_t mode, aclrtStream stream) {
  return guarded("aclrtValueWait", [&] {
    const auto holds = [=] {
      const uint64_t found = *static_cast<uint64_t*>(data);
      switch (mode) {
        case ACL_STREAM_WAIT_VALUE_GEQ:
          return static_cast<int64_t>(found - value) >= 0;
        case ACL_STREAM_WAIT_VALUE_EQ:
          return found == value;
        case ACL_STREAM_WAIT_VALUE_AND:
          return (found & value) != 0;
        default:
          return ~(found | value) != 0;
      }
    };
    fake::launch(fake::stream_of(stream), {"aclrtValueWait", [] {}, holds, nullptr});
  });
}

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc body, void* argument) {
  return guarded("aclrtLaunchHostFunc", [&] {
    fake::launch(fake::stream_of(stream),
                 {"aclrtLaunchHostFunc", [=] { body(argument); }, nullptr, nullptr});
  });
}

}  // extern "C"
