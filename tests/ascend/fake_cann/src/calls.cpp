#include "calls.h"

#include <sstream>

#include "failure.h"
#include "graph.h"
#include "stream.h"

namespace fake {
namespace {

bool logging = false;
std::string text;

std::string quoted(const std::string& raw) {
  std::string out = "\"";
  for (char c : raw) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace

void note_launch(const std::string& name, const std::string& arguments, const Stream& stream,
                 uint32_t cube_cores, uint32_t vector_cores) {
  if (!logging) return;
  std::ostringstream line;
  line << "{\"what\": \"launch\", \"name\": " << quoted(name) << ", \"stream\": " << stream.id
       << ", \"cores\": [" << cube_cores << ", " << vector_cores << "], \"graph\": "
       << (stream.capture != nullptr ? static_cast<long>(stream.capture->id) : 0)
       << ", \"update\": " << (stream.updates != nullptr ? "true" : "false") << ", \"args\": {"
       << arguments << "}}\n";
  text += line.str();
}

void note_run(const std::string& name) {
  if (logging) text += "{\"what\": \"run\", \"name\": " + quoted(name) + "}\n";
}

void note_failure(const std::string& message) {
  if (logging) text += "{\"what\": \"failure\", \"name\": " + quoted(message) + "}\n";
}

}  // namespace fake

extern "C" {

void fake_cann_log(int on) {
  std::lock_guard<std::recursive_mutex> hold(fake::lock());
  fake::logging = on != 0;
  if (fake::logging) fake::text.clear();
}

const char* fake_cann_log_text() { return fake::text.c_str(); }

}  // extern "C"
