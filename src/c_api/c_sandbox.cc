// The C functions for Sandboxes, queues and watches.
#include <brig/version.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>

#include "base/error.h"
#include "base/fd.h"
#include "c_api/c_config.h"
#include "json/json_line.h"
#include "os/event.h"
#include "sandbox/event_json.h"
#include "sandbox/refused_result.h"
#include "tool/tool_formats.h"

using namespace brig;

struct brig_c_sandbox {
  Sandbox sandbox;
};

struct brig_c_queue {
  struct State {
    struct Result {
      std::uint64_t ticket;
      std::string text;
    };
    std::mutex mutex;
    std::deque<Result> results;
    UniqueFd readable;
    bool closed = false;

    void put(std::uint64_t ticket, std::string text) {
      const std::lock_guard lock(mutex);
      if (closed) return;
      results.push_back({ticket, std::move(text)});
      if (results.size() == 1) signal_event(readable);
    }
  };
  std::shared_ptr<State> state = std::make_shared<State>();
};

struct brig_c_watch {
  std::shared_ptr<Watch> watch;
  int descriptor;
};

namespace {

struct Asked {
  std::string tool;
  Json arguments;
  CallOptions options;
};

Asked asked_of(const char* request, std::size_t size, std::span<const brig_c_blob> blobs) {
  Json json = json_of(request, size, blobs);
  const auto text = [&](const char* name) {
    const auto found = json.find(name);
    if (found == json.end() || found->is_null()) return std::string();
    if (!found->is_string()) throw_error(ErrorKind::config, "{}: expected a string", name);
    return std::move(found->get_ref<std::string&>());
  };
  Asked asked{text("tool"), nullptr, {.call_id = text("call_id"), .caller = text("caller")}};
  if (const auto found = json.find("arguments"); found != json.end())
    asked.arguments = std::move(*found);
  return asked;
}

// The result of a request that can't be understood.
std::string refusal(const std::string& why) {
  return to_json_lines(refused_result(Outcome::invalid_arguments, why));
}

// The hints stand beside the name too, where they stood before 0.2; until 0.3.
Json with_old_names(const Tool& tool) {
  Json json = tool_as_json(tool);
  const Json annotations = json["annotations"];
  json.update(annotations);
  return json;
}

// Every event but output of other bytes had a text before 0.2, the end its message; until 0.3.
Json with_old_names(const Event& event) {
  Json json = json_of(event);
  if (!json.contains("text_base64")) json["text"] = event.text;
  return json;
}

}  // namespace

int brig_c_version() { return BRIG_C_VERSION; }
const char* brig_c_library_version() { return BRIG_VERSION; }
void brig_c_free(void* text) { std::free(text); }

brig_c_sandbox* brig_c_sandbox_new(const char* config, size_t size, char** error) {
  return guarded<brig_c_sandbox*>(nullptr, error, [&] {
    Config made = config_of(json_of(config, size));
    return new brig_c_sandbox{Sandbox(std::move(made.tools), std::move(made.policy), made.options)};
  });
}

void brig_c_sandbox_free(brig_c_sandbox* sandbox) { delete sandbox; }

int brig_c_sandbox_set_tools(brig_c_sandbox* sandbox, const char* config, size_t size,
                             char** error) {
  return guarded(-1, error, [&] {
    sandbox->sandbox.set_tools(config_of(json_of(config, size)).tools);
    return 0;
  });
}

char* brig_c_sandbox_tools(brig_c_sandbox* sandbox, const char* query) {
  return guarded<char*>(nullptr, nullptr, [&] {
    Json list = Json::array();
    for (const auto& tool : sandbox->sandbox.list_tools(query ? query : ""))
      list.push_back(with_old_names(*tool));
    return text_for_c(json_line(list));
  });
}

char* brig_c_sandbox_sources(brig_c_sandbox* sandbox) {
  return guarded<char*>(nullptr, nullptr,
                        [&] { return text_for_c(json_line(Json(sandbox->sandbox.sources()))); });
}

char* brig_c_sandbox_call(brig_c_sandbox* sandbox, const char* request, size_t size,
                          const brig_c_blob* blobs, size_t blob_count, int (*interrupted)(),
                          size_t* result_size) {
  return guarded<char*>(nullptr, nullptr, [&] {
    try {
      Asked asked = asked_of(request, size, {blobs, blob_count});
      if (interrupted) asked.options.interrupted = [=] { return interrupted() != 0; };
      const ToolResult result =
          sandbox->sandbox.call(asked.tool, std::move(asked.arguments), std::move(asked.options));
      return text_for_c(to_json_lines(result), result_size);
    } catch (const Error& failure) {
      return text_for_c(refusal(failure.what()), result_size);
    }
  });
}

brig_c_queue* brig_c_queue_new(char** error) {
  return guarded<brig_c_queue*>(nullptr, error, [] {
    auto queue = std::make_unique<brig_c_queue>();
    queue->state->readable = make_event();
    if (!queue->state->readable) throw_sys("queue: eventfd");
    return queue.release();
  });
}

int brig_c_queue_descriptor(const brig_c_queue* queue) { return queue->state->readable.get(); }

char* brig_c_queue_take(brig_c_queue* queue, uint64_t* ticket, size_t* size) {
  brig_c_queue::State& state = *queue->state;
  brig_c_queue::State::Result result;
  {
    const std::lock_guard lock(state.mutex);
    if (state.results.empty()) return nullptr;
    result = std::move(state.results.front());
    state.results.pop_front();
    if (state.results.empty()) clear_event(state.readable);
  }
  *ticket = result.ticket;
  return text_for_c(result.text, size);
}

void brig_c_queue_free(brig_c_queue* queue) {
  if (!queue) return;
  {
    const std::lock_guard lock(queue->state->mutex);
    queue->state->closed = true;
    queue->state->results.clear();
  }
  delete queue;
}

void brig_c_sandbox_submit(brig_c_sandbox* sandbox, brig_c_queue* queue, uint64_t ticket,
                           const char* request, size_t size, const brig_c_blob* blobs,
                           size_t blob_count) {
  guarded(0, nullptr, [&] {
    const auto state = queue->state;
    try {
      Asked asked = asked_of(request, size, {blobs, blob_count});
      sandbox->sandbox.call_async(
          asked.tool, std::move(asked.arguments), std::move(asked.options),
          [state, ticket](const ToolResult& result) { state->put(ticket, to_json_lines(result)); });
    } catch (const Error& failure) {
      state->put(ticket, refusal(failure.what()));
    }
    return 0;
  });
}

int brig_c_sandbox_cancel(brig_c_sandbox* sandbox, const char* call_id, int at_once) {
  return sandbox->sandbox.cancel(call_id, at_once != 0);
}

brig_c_watch* brig_c_sandbox_watch(brig_c_sandbox* sandbox, size_t buffer, char** error) {
  return guarded<brig_c_watch*>(nullptr, error, [&] {
    const auto watch = sandbox->sandbox.watch(buffer);
    return new brig_c_watch{watch, watch->descriptor()};
  });
}

int brig_c_watch_descriptor(const brig_c_watch* watch) { return watch->descriptor; }

char* brig_c_watch_next(brig_c_watch* watch, int milliseconds, size_t* size) {
  return guarded<char*>(nullptr, nullptr, [&]() -> char* {
    const auto event = watch->watch->next(std::chrono::milliseconds(milliseconds));
    return event ? text_for_c(json_line(with_old_names(*event)), size) : nullptr;
  });
}

int brig_c_watch_ended(const brig_c_watch* watch) { return watch->watch->ended(); }
void brig_c_watch_free(brig_c_watch* watch) { delete watch; }
