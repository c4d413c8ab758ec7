#include "serve/metrics.h"

#include <brig/version.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>

namespace brig::serve {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;

double seconds(std::chrono::microseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

struct Metrics::Impl {
  prometheus::Registry registry;
  prometheus::Family<Counter>& calls = prometheus::BuildCounter()
                                           .Name("brig_calls_total")
                                           .Help("Calls that ended, by tool and outcome")
                                           .Register(registry);
  prometheus::Family<Counter>& refusals = prometheus::BuildCounter()
                                              .Name("brig_refused_total")
                                              .Help("Requests refused before they were calls")
                                              .Register(registry);
  prometheus::Family<Histogram>& steps =
      prometheus::BuildHistogram()
          .Name("brig_call_step_seconds")
          .Help("Where the time of calls went: queue, dispatch, run, teardown; total is all of it")
          .Register(registry);
  prometheus::Family<Counter>& bytes = prometheus::BuildCounter()
                                           .Name("brig_output_bytes_total")
                                           .Help("Bytes that tools wrote")
                                           .Register(registry);
  prometheus::Family<Counter>& kill_family =
      prometheus::BuildCounter()
          .Name("brig_kills_total")
          .Help("Calls that brig ended: time, memory, output, cancellation")
          .Register(registry);
  prometheus::Family<Counter>& violation_family = prometheus::BuildCounter()
                                                      .Name("brig_violations_total")
                                                      .Help("What cells tried and were refused")
                                                      .Register(registry);
  prometheus::Family<Gauge>& gauges =
      prometheus::BuildGauge().Name("brig_cells").Help("Cells and calls now").Register(registry);
  prometheus::Family<Gauge>& http_gauges = prometheus::BuildGauge()
                                               .Name("brig_http_connections")
                                               .Help("Connections and event streams now")
                                               .Register(registry);
  prometheus::Family<Counter>& http_family = prometheus::BuildCounter()
                                                 .Name("brig_http_requests_total")
                                                 .Help("HTTP requests, and what was none")
                                                 .Register(registry);
  prometheus::Family<Counter>& http_bytes = prometheus::BuildCounter()
                                                .Name("brig_http_bytes_total")
                                                .Help("Bytes of HTTP")
                                                .Register(registry);
  prometheus::Family<Counter>& oom_family = prometheus::BuildCounter()
                                                .Name("brig_oom_kills_total")
                                                .Help("Calls that the kernel ended for memory")
                                                .Register(registry);
  Counter& ooms = oom_family.Add({});
  std::uint64_t ended = 0;

  Histogram& step(const char* name) {
    return steps.Add({{"step", name}}, Histogram::BucketBoundaries{
                                           0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                           0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30});
  }
  Histogram& queue = step("queue");
  Histogram& dispatch = step("dispatch");
  Histogram& run = step("run");
  Histogram& teardown = step("teardown");
  Histogram& total = step("total");
  Counter& out = bytes.Add({{"stream", "stdout"}});
  Counter& err = bytes.Add({{"stream", "stderr"}});
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {
  prometheus::BuildGauge()
      .Name("brig_info")
      .Help("The version that runs")
      .Register(impl_->registry)
      .Add({{"version", BRIG_VERSION}})
      .Set(1);
}
Metrics::~Metrics() = default;

void Metrics::called(const std::string& tool, const ToolResult& result) {
  const Report& report = result.report;
  ++impl_->ended;
  impl_->calls
      .Add({{"tool", tool.empty() ? "(unknown)" : tool}, {"outcome", to_string(report.outcome)}})
      .Increment();
  switch (report.outcome) {
    case Outcome::memory_limit: impl_->ooms.Increment(); [[fallthrough]];
    case Outcome::timeout:
    case Outcome::output_limit:
    case Outcome::cancelled:
      impl_->kill_family.Add({{"why", to_string(report.outcome)}}).Increment();
      break;
    default: break;
  }
  for (const Violation& each : report.violations)
    impl_->violation_family.Add({{"layer", each.layer}}).Increment(static_cast<double>(each.count));
  impl_->queue.Observe(seconds(report.steps.queue));
  if (report.steps.run.count() > 0) {
    impl_->dispatch.Observe(seconds(report.steps.dispatch));
    impl_->run.Observe(seconds(report.steps.run));
    impl_->teardown.Observe(seconds(report.steps.teardown));
  }
  impl_->total.Observe(seconds(result.duration));
  impl_->out.Increment(static_cast<double>(report.out.total));
  impl_->err.Increment(static_cast<double>(report.err.total));
}

void Metrics::refused(const char* why) { impl_->refusals.Add({{"why", why}}).Increment(); }

std::uint64_t Metrics::calls() const { return impl_->ended; }

std::string Metrics::text(const Gauges& gauges,
                          const std::function<bool(const std::string& tool)>& shows) const {
  impl_->gauges.Add({{"state", "ready"}}).Set(gauges.ready);
  impl_->gauges.Add({{"state", "running"}}).Set(gauges.running);
  impl_->gauges.Add({{"state", "waiting"}}).Set(gauges.waiting);
  impl_->gauges.Add({{"state", "kept_jobs"}}).Set(gauges.jobs);
  impl_->http_gauges.Add({{"kind", "all"}}).Set(gauges.connections);
  impl_->http_gauges.Add({{"kind", "events"}}).Set(gauges.streams);
  const auto raise = [](Counter& counter, std::uint64_t value) {
    counter.Increment(static_cast<double>(value) - counter.Value());
  };
  raise(impl_->http_family.Add({{"kind", "served"}}), gauges.http_requests);
  raise(impl_->http_family.Add({{"kind", "malformed"}}), gauges.http_refused);
  raise(impl_->http_bytes.Add({{"direction", "in"}}), gauges.http_bytes_in);
  raise(impl_->http_bytes.Add({{"direction", "out"}}), gauges.http_bytes_out);
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
