// Streams, events and the order in which queued launches run.
//
// Nothing runs when it is launched. A launch joins its stream's queue; when the host waits, queued
// work runs in an order that the events allow: launch order with seed 0, a random legal one else.
// So a missing event wait is a wrong result under some seed, as it is on the device. Random orders
// are of long stretches: a stream keeps the device for a while, since what hides a missing wait is
// that all streams go forward at one pace.
//
// A launch that fails takes the device down: what is queued anywhere is lost, and whoever waits for
// a stream or an event of it is told.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "acl/acl.h"

namespace fake {

struct Model;

// One thing to do on the device.
struct Work {
  std::string name;
  std::function<void()> run;
  // Empty, or whether the device may run it now.
  std::function<bool()> ready;
  // Empty, or what is done in its place when a failed launch before it took the device down.
  std::function<void(const std::string& failure)> lost;
};

// A queue entry: one work, or a graph that runs its nodes one by one.
struct Entry {
  uint64_t sequence = 0;
  virtual ~Entry() = default;
  virtual bool ready() = 0;
  // Runs one step; true when nothing of it is left.
  virtual bool step() = 0;
  virtual void lose(const std::string& failure) = 0;
};

struct Stream {
  int id = 0;
  uint64_t rank = 0;  // in a random order, the able stream of the highest rank runs
  std::deque<std::unique_ptr<Entry>> queue;
  std::string failure;      // why queued work of it was lost; told to the next who waits for it
  uint32_t cube_limit = 0;  // 0: all cores
  uint32_t vector_limit = 0;

  Model* capture = nullptr;   // the graph that records its launches
  int last_node = -1;         // its newest node there
  Model* group_of = nullptr;  // a task group is open
  int group = -1;
  Model* updates = nullptr;  // launches replace nodes of a task group of this graph
  int updated_group = -1;
  size_t updated = 0;
};

struct Event {
  uint32_t flags = 0;
  uint64_t recorded = 0;  // records asked for so far
  uint64_t done = 0;      // the newest that the device has passed
  double done_ms = 0;
  std::string failure;       // why its newest record was lost
  uint64_t captured_in = 0;  // the newest record was in this graph, at this node
  int captured_node = -1;
};

// The stream behind a handle; null is the default stream.
Stream& stream_of(aclrtStream handle);

// Queues, records or replaces: what a launch on this stream does now.
void launch(Stream& stream, Work work);

// Puts an entry at the end of a stream's queue.
void enqueue(Stream& stream, std::unique_ptr<Entry> entry);

// Runs queued work until a condition holds; throws when nothing can run before it does.
void run_until(const std::function<bool()>& holds, const char* what);

void run_all();

// Lets the device take one step, as time passes between two queries.
void run_some();

// Refuses what may not happen while this stream is captured, or, without a stream, in this thread.
void refuse_in_capture(const Stream* stream);

uint64_t random_below(uint64_t n);
bool in_launch_order();
void set_order(uint64_t seed);

}  // namespace fake
