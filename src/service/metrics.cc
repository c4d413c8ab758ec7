#include "service/metrics.h"

#include <brig/version.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/text.h"

namespace brig::serve {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;

constexpr std::size_t kMostTools = 100;

double seconds(std::chrono::microseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

struct Metrics::Impl {
  prometheus::Registry registry;

  prometheus::Family<Counter>& counters(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }
  Counter& counter(const char* name, const char* help) { return counters(name, help).Add({}); }
  Gauge& gauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
  }
  prometheus::Family<Histogram>& histograms(const char* name, const char* help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
  }
  static Histogram::BucketBoundaries buckets() {
    return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
            0.1,    0.25,    0.5,    1,     2.5,    5,     10,   30};
  }

  // Of calls.
  prometheus::Family<Counter>& calls =
      counters("brig_calls_total", "Calls that ended, by tool and outcome");
  prometheus::Family<Histogram>& durations = histograms(
      "brig_call_duration_seconds", "Duration of calls, from request to result, by tool");
  prometheus::Family<Histogram>& steps = histograms(
      "brig_call_step_seconds", "Duration of the steps of calls: queue, dispatch, run, teardown");
  prometheus::Family<Counter>& refusals =
      counters("brig_refused_total", "Requests for calls that were refused, by reason");
  prometheus::Family<Counter>& bytes =
      counters("brig_output_bytes_total", "Bytes that tools wrote, by stream");
  prometheus::Family<Counter>& kills =
      counters("brig_kills_total",
               "Calls that brig ended, by reason: timeout, memory, output, cancellation");
  Counter& ooms =
      counter("brig_oom_kills_total", "Calls that the kernel ended at their memory limit");
  prometheus::Family<Counter>& violations =
      counters("brig_violations_total", "Refused actions of tools in their cells, by code");
  Gauge& running = gauge("brig_calls_running", "Calls that are running");
  Gauge& waiting = gauge("brig_calls_waiting", "Calls that are waiting for a place");
  Gauge& ready = gauge("brig_cells_ready", "Cells that are ready for a call");
  Gauge& jobs = gauge("brig_jobs_kept", "Jobs that are running or whose result is kept");
  std::uint64_t ended = 0;

  // Of HTTP.
  prometheus::Family<Counter>& requests =
      counters("brig_http_requests_total", "HTTP responses, by method, route and status");
  Counter& http_refused =
      counter("brig_http_refused_total",
              "HTTP connections and messages that were refused before a request was read");
  Counter& received = counter("brig_http_received_bytes_total", "Bytes received over HTTP");
  Counter& sent = counter("brig_http_sent_bytes_total", "Bytes sent over HTTP");
  Gauge& connections = gauge("brig_http_connections", "Open HTTP connections");
  Gauge& streams = gauge("brig_http_event_streams", "Open streams of /events");

  // What an operator should look after.
  prometheus::Family<Counter>& reloads = counters(
      "brig_reloads_total",
      "Reloads of manifest and tools, by result; after a failed reload the old ones stay in use");
  Counter& reloads_well = reloads.Add({{"result", "ok"}});
  Counter& reloads_failed = reloads.Add({{"result", "failed"}});
  Counter& audit_failures =
      counter("brig_audit_failures_total",
              "Audit log lines that could not be written at the first attempt");
  Counter& audit_lost = counter("brig_audit_lost_lines_total", "Audit log lines that are lost");
  Gauge& audit_unwritten =
      gauge("brig_audit_unwritten_lines", "Audit log lines that are waiting to be written");

  // Of the process, by the names that every exporter has.
  Counter& cpu = counter("process_cpu_seconds_total", "CPU time of the server itself, in seconds");
  Gauge& resident = gauge("process_resident_memory_bytes", "Resident memory of the server itself");
  Gauge& virtual_memory =
      gauge("process_virtual_memory_bytes", "Virtual memory of the server itself");
  Gauge& open_fds = gauge("process_open_fds", "Open file descriptors of the server itself");
  Gauge& max_fds = gauge("process_max_fds", "Limit of open file descriptors of the server itself");
  Gauge& start_time =
      gauge("process_start_time_seconds", "Start time of the server, in seconds since 1970");

  Histogram& step(const char* name) { return steps.Add({{"step", name}}, buckets()); }
  Histogram& queue = step("queue");
  Histogram& dispatch = step("dispatch");
  Histogram& run = step("run");
  Histogram& teardown = step("teardown");
  Counter& out = bytes.Add({{"stream", "stdout"}});
  Counter& err = bytes.Add({{"stream", "stderr"}});

  std::set<std::string> tools;
  // Tools come and go with manifests; only this many have series of their own.
  std::string label_of(const std::string& tool) {
    if (tool.empty()) return "(unknown)";
    if (!tools.contains(tool) && tools.size() >= kMostTools) return "(other)";
    tools.insert(tool);
    return tool;
  }

  void look_at_process() {
    rusage usage{};
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
      const auto in_seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
      };
      raise(cpu, in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime));
    }
    if (std::uint64_t size = 0, pages = 0;
        std::istringstream(read_text("/proc/self/statm")) >> size >> pages) {
      const double page = static_cast<double>(sysconf(_SC_PAGESIZE));
      virtual_memory.Set(static_cast<double>(size) * page);
      resident.Set(static_cast<double>(pages) * page);
    }
    if (DIR* const directory = opendir("/proc/self/fd")) {
      // Its own.
      double count = -1;
      while (const dirent* each = readdir(directory)) count += each->d_name[0] != '.';
      closedir(directory);
      open_fds.Set(count);
    }
    if (rlimit limit{}; getrlimit(RLIMIT_NOFILE, &limit) == 0)
      max_fds.Set(static_cast<double>(limit.rlim_cur));
  }
  static void raise(Counter& counter, double value) {
    if (value > counter.Value()) counter.Increment(value - counter.Value());
  }
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {
  prometheus::BuildGauge()
      .Name("brig_info")
      .Help("Version of the server")
      .Register(impl_->registry)
      .Add({{"version", BRIG_VERSION}})
      .Set(1);
  impl_->start_time.SetToCurrentTime();
}
Metrics::~Metrics() = default;

void Metrics::called(const std::string& tool, const ToolResult& result) {
  const Report& report = result.report;
  ++impl_->ended;
  const std::string label = impl_->label_of(tool);
  impl_->calls.Add({{"tool", label}, {"outcome", to_string(report.outcome)}}).Increment();
  impl_->durations.Add({{"tool", label}}, Impl::buckets()).Observe(seconds(result.duration));
  switch (report.outcome) {
    case Outcome::memory_limit: impl_->ooms.Increment(); [[fallthrough]];
    case Outcome::timeout:
    case Outcome::output_limit:
    case Outcome::cancelled:
      impl_->kills.Add({{"why", to_string(report.outcome)}}).Increment();
      break;
    default: break;
  }
  for (const Violation& each : report.violations)
    impl_->violations.Add({{"code", each.code}}).Increment(static_cast<double>(each.count));
  impl_->queue.Observe(seconds(report.steps.queue));
  if (report.steps.run.count() > 0) {
    impl_->dispatch.Observe(seconds(report.steps.dispatch));
    impl_->run.Observe(seconds(report.steps.run));
    impl_->teardown.Observe(seconds(report.steps.teardown));
  }
  impl_->out.Increment(static_cast<double>(report.out.total));
  impl_->err.Increment(static_cast<double>(report.err.total));
}

void Metrics::reloaded(bool well) {
  (well ? impl_->reloads_well : impl_->reloads_failed).Increment();
}

void Metrics::refused(const char* why) { impl_->refusals.Add({{"why", why}}).Increment(); }

void Metrics::answered(std::string_view method, std::string_view path, unsigned status) {
  static constexpr std::string_view kMethods[] = {"GET",     "HEAD", "POST", "DELETE",
                                                  "OPTIONS", "PUT",  "PATCH"};
  const auto known = std::ranges::find(kMethods, method);
  impl_->requests
      .Add({{"method", std::string(known == std::end(kMethods) ? "other" : *known)},
            {"route", std::string(route_of(path))},
            {"status", std::to_string(status)}})
      .Increment();
}

std::string_view route_of(std::string_view path) {
  for (const std::string_view whole :
       {"/", "/healthz", "/metrics", "/events", "/mcp", "/v1/tools", "/v1/run", "/v1/calls",
        "/v1/jobs", "/v1/capabilities", "/v1/status", "/v1/openapi.json"})
    if (path == whole) return whole;
  const auto is_below = [&](std::string_view folder, std::string_view end = "") {
    if (!path.starts_with(folder) || !path.ends_with(end) ||
        path.size() <= folder.size() + end.size())
      return false;
    const auto rest = path.substr(folder.size(), path.size() - folder.size() - end.size());
    return rest.find('/') == std::string_view::npos;
  };
  if (is_below("/console/")) return "/console/{file}";
  if (is_below("/v1/tools/", "/call")) return "/v1/tools/{name}/call";
  if (is_below("/v1/calls/")) return "/v1/calls/{id}";
  if (is_below("/v1/jobs/")) return "/v1/jobs/{id}";
  return "other";
}

std::uint64_t Metrics::calls() const { return impl_->ended; }

std::string Metrics::text(const Gauges& gauges,
                          const std::function<bool(const std::string& tool)>& shows) const {
  impl_->ready.Set(gauges.ready);
  impl_->running.Set(gauges.running);
  impl_->waiting.Set(gauges.waiting);
  impl_->jobs.Set(gauges.jobs);
  impl_->connections.Set(gauges.connections);
  impl_->streams.Set(gauges.streams);
  impl_->audit_unwritten.Set(static_cast<double>(gauges.audit_unwritten));
  const auto raise = [](Counter& counter, std::uint64_t value) {
    Impl::raise(counter, static_cast<double>(value));
  };
  raise(impl_->http_refused, gauges.http_refused);
  raise(impl_->received, gauges.http_bytes_in);
  raise(impl_->sent, gauges.http_bytes_out);
  raise(impl_->audit_failures, gauges.audit_failures);
  raise(impl_->audit_lost, gauges.audit_lost);
  impl_->look_at_process();
  auto families = impl_->registry.Collect();
  for (prometheus::MetricFamily& family : families)
    std::erase_if(family.metric, [&](const prometheus::ClientMetric& each) {
      return std::any_of(each.label.begin(), each.label.end(), [&](const auto& label) {
        return label.name == "tool" && shows && !shows(label.value);
      });
    });
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace brig::serve
