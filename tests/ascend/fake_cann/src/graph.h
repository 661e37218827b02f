// Captured graphs: launches recorded with what must come before them, run again at each replay.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "stream.h"

namespace fake {

struct Node {
  Work work;
  std::vector<int> after;  // nodes that must have run
  int group = -1;
};

struct Model {
  uint64_t id = 0;
  Stream* origin = nullptr;
  aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;        // that captures it
  std::vector<Stream*> streams;  // those that joined
  std::vector<std::shared_ptr<Node>> nodes;
  int groups = 0;
  bool captured = false;
};

// The handle of a task group.
struct TaskGroup {
  Model* model;
  int group;
};

// Records a launch; returns the node's number.
int record(Model& model, Stream& stream, Work work);

// Makes a stream's next node wait for one of a graph that is being captured, joining the capture
// when it is not part of it.
void depend(Stream& stream, uint64_t graph, int node);

// Puts new work in the place of a captured node of the stream's open update.
void replace(Stream& stream, Work work);

bool capturing();

// Whether a capture forbids this thread what waits for the device: one in global mode forbids it to
// all threads, one in thread-local mode to its own.
bool unsafe_here();

}  // namespace fake
