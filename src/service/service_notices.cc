// What a Service reports: to callers about their own calls, and to watchers about everything.
#include <charconv>
#include <utility>

#include "json/json_line.h"
#include "sandbox/event_json.h"
#include "service/old_names.h"
#include "service/service.h"
#include "tool/tool_formats.h"

namespace brig::serve {
namespace {

template <typename Value>
std::shared_ptr<void> listed(const std::shared_ptr<std::list<Value>>& list, Value value) {
  list->push_front(std::move(value));
  return {nullptr, [weak = std::weak_ptr(list), entry = list->begin()](void*) {
            const auto held = weak.lock();
            if (!held) return;
            // The value may hold handles to this list.
            const Value gone = std::move(*entry);
            held->erase(entry);
          }};
}

// Entries may be removed while they are called: those that existed at the beginning are called.
template <typename Value, typename... Arguments>
void call_all(const std::shared_ptr<std::list<Value>>& list, const Arguments&... arguments) {
  const std::list<Value> all = *list;
  for (const Value& each : all) each(arguments...);
}

}  // namespace

void Service::receive(Event event) {
  if (event.dropped > 0) {
    Event lost;
    lost.kind = Event::Kind::lost;
    lost.at = event.at;
    lost.dropped = std::exchange(event.dropped, 0);
    for (auto& [id, call] : active_)
      if (call.observer.on_event) call.observer.on_event(lost);
    publish(lost, nullptr);
  }
  switch (event.kind) {
    case Event::Kind::lost:
    case Event::Kind::finished:  // end() reports it, with more detail
    case Event::Kind::tool_added:
    case Event::Kind::tool_removed:
    case Event::Kind::tool_updated: return;
    default: break;
  }
  std::uint64_t number = 0;
  std::from_chars(event.call_id.data(), event.call_id.data() + event.call_id.size(), number);
  const auto found = active_.find(number);
  if (found == active_.end()) return;
  ActiveCall& call = found->second;
  event.call_id = call.summary.call_id;
  if (event.kind == Event::Kind::started) call.summary.running = true;
  if (call.observer.on_event) call.observer.on_event(event);
  if (subscribers_->empty()) return;
  publish(event, &call);
}

void Service::publish(const Event& event, const ActiveCall* call, const ToolResult* result) {
  if (subscribers_->empty()) return;
  Json data = json_of(event);
  Notice notice{to_string(event.kind), event.call_id, event.tool, nullptr, {}};
  if (call) {
    data["caller"] = call->summary.caller;
    notice.caller = call->caller;
    if (event.kind == Event::Kind::queued && !call->summary.arguments.is_null())
      data["arguments"] = call->summary.arguments;
  }
  if (result) add_end(data, *result);
  add_old_names(data);
  notice.data = json_line(data);
  call_all(subscribers_, notice);
}

std::shared_ptr<void> Service::watch(Subscriber subscriber) {
  return listed(subscribers_, std::move(subscriber));
}

std::shared_ptr<void> Service::on_tools_changed(std::function<void()> job) {
  return listed(on_tools_, std::move(job));
}

void Service::swap_in(std::shared_ptr<ServedSandbox> next) {
  // What a client reads about a tool comes from its policy, too: its limits, and hints such as
  // readOnlyHint.
  using Form = std::pair<Json, Policy>;
  std::map<std::string, Form> before, after;
  const auto read = [](const ServedSandbox& served, std::map<std::string, Form>& into) {
    for (const auto& [name, tool] : served.tools)
      into[name] = {tool_as_json(*tool), tool->options.policy.value_or(served.policy)};
  };
  read(*tools_, before);
  read(*next, after);
  if (builtins_) {
    read(*builtins_, before);
    builtins_->policy = next->policy;
    read(*builtins_, after);
  }
  retired_.push_back(std::exchange(tools_, std::move(next)));
  sweep_retired();
  bool changed = false;
  const auto note = [&](Event::Kind kind, const std::string& tool) {
    changed = true;
    Event event;
    event.kind = kind;
    event.tool = tool;
    event.at = std::chrono::system_clock::now();
    publish(event, nullptr);
  };
  for (const auto& [name, form] : before)
    if (!after.contains(name)) note(Event::Kind::tool_removed, name);
  for (const auto& [name, form] : after) {
    const auto found = before.find(name);
    if (found == before.end())
      note(Event::Kind::tool_added, name);
    else if (found->second != form)
      note(Event::Kind::tool_updated, name);
  }
  if (!changed) return;
  call_all(on_tools_);
}

}  // namespace brig::serve
