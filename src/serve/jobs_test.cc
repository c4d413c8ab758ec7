// Jobs of commands that really run, on a loop of their own.
#include "serve/jobs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "serve/scratch_directory.h"

namespace brig::serve {
namespace {

using namespace std::chrono_literals;
constexpr std::chrono::seconds kAtOnce{15};

class JobsOf : public testing::Test {
 protected:
  JobsOf() {
    std::ofstream(directory_ / "brig.toml") << R"toml(
[policy]
timeout = "60s"
grace = "100ms"
[[command]]
name = "say"
argv = ["echo", "{text}"]
parameters.text = { type = "string" }
[[command]]
name = "nap"
argv = ["sleep", "60"]
)toml";
    caller_->name = "a";
    other_->name = "b";
  }
  ~JobsOf() override {
    loop_.stop();
    if (thread_.joinable()) thread_.join();
    jobs_.reset();
    service_.reset();
  }

  void begin(JobLimits limits = {}) {
    ServiceOptions options;
    options.manifest = directory_ / "brig.toml";
    service_ = std::make_unique<Service>(loop_, options, Builtins{});
    jobs_ = std::make_unique<Jobs>(loop_, *service_, limits);
    thread_ = std::thread([this] {
      loop_.run([](const std::exception& defect) { ADD_FAILURE() << defect.what(); });
    });
  }
  // Does it on the loop's thread.
  template <typename Job>
  auto there(Job job) const {
    std::promise<decltype(job())> done;
    loop_.post([&] { done.set_value(job()); });
    return done.get_future().get();
  }
  std::variant<std::string, Refusal> submit(const std::string& tool, const Json& arguments,
                                            std::size_t size = 1, CallerPtr caller = nullptr) {
    return there([&] {
      Order order;
      order.tool = tool;
      order.arguments = arguments;
      order.caller = caller ? caller : caller_;
      order.via = "job";
      return jobs_->submit(std::move(order), size);
    });
  }
  std::string say(const std::string& text) {
    return std::get<std::string>(submit("say", {{"text", text}}));
  }
  std::string nap() { return std::get<std::string>(submit("nap", Json::object())); }
  std::optional<Json> find(const std::string& id, const CallerPtr& caller) {
    const auto text = there([&] { return jobs_->find(id, *caller); });
    return text ? std::optional<Json>(Json::parse(*text)) : std::nullopt;
  }
  std::string status(const std::string& id, const CallerPtr& caller = nullptr) {
    const auto job = find(id, caller ? caller : caller_);
    return job ? (*job)["status"].get<std::string>() : "none";
  }
  Jobs::Removal remove(const std::string& id, const CallerPtr& caller) {
    return there([&] { return jobs_->remove(id, *caller); });
  }
  bool becomes(const std::string& id, const std::string& wanted,
               const CallerPtr& caller = nullptr) {
    for (const auto begin = std::chrono::steady_clock::now();
         std::chrono::steady_clock::now() - begin < kAtOnce; usleep(2000))
      if (status(id, caller) == wanted) return true;
    return false;
  }
  std::size_t size() {
    return there([&] { return jobs_->size(); });
  }

  mutable Loop loop_;
  const ScratchDirectory directory_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Jobs> jobs_;
  std::thread thread_;
  CallerPtr caller_ = std::make_shared<Caller>(), other_ = std::make_shared<Caller>();
};

TEST_F(JobsOf, AResultIsKept) {
  begin();
  const std::string id = say("hello");
  ASSERT_TRUE(becomes(id, "done"));
  const Json job = *find(id, caller_);
  EXPECT_EQ(job["id"], id);
  EXPECT_EQ(job["tool"], "say");
  EXPECT_EQ(job["result"]["ok"], true);
  EXPECT_EQ(job["result"]["output"], "hello") << job;
  EXPECT_GT(job["created_at"], 1.6e9);
  const auto list = there([&] { return jobs_->list(*caller_); });
  ASSERT_EQ(list.size(), 1u);
  EXPECT_FALSE(list[0].contains("result")) << "they may be many, and large";
}

TEST_F(JobsOf, OthersAreNotSeenButByAnAdmin) {
  begin();
  const std::string id = say("hello");
  EXPECT_FALSE(find(id, other_));
  EXPECT_EQ(remove(id, other_), Jobs::Removal::none);
  EXPECT_TRUE(there([&] { return jobs_->list(*other_); }).empty());
  other_->admin = true;
  EXPECT_TRUE(find(id, other_));
}

TEST_F(JobsOf, ARunningOneIsCancelledAndADoneOneForgotten) {
  begin();
  const std::string id = nap();
  ASSERT_TRUE(becomes(id, "running"));
  EXPECT_EQ(remove(id, caller_), Jobs::Removal::cancelled);
  ASSERT_TRUE(becomes(id, "done"));
  EXPECT_EQ((*find(id, caller_))["result"]["report"]["outcome"], "cancelled");
  EXPECT_EQ(remove(id, caller_), Jobs::Removal::forgotten);
  EXPECT_EQ(status(id), "none");
  EXPECT_EQ(remove(id, caller_), Jobs::Removal::none);
  EXPECT_EQ(size(), 0u);
}

TEST_F(JobsOf, ResultsExpire) {
  begin({.kept = 0s});
  const std::string id = say("hello");
  EXPECT_TRUE(becomes(id, "none"));
  EXPECT_EQ(size(), 0u);
}

TEST_F(JobsOf, TheOldestResultsMakeRoomForNewOnes) {
  begin({.bytes = 4000});
  const std::string first = say(std::string(1500, 'x'));
  ASSERT_TRUE(becomes(first, "done"));
  const std::string second = say(std::string(1500, 'x'));
  EXPECT_TRUE(becomes(second, "done") || status(second) == "none");
  EXPECT_TRUE(becomes(first, "none"));
}

TEST_F(JobsOf, NoMoreAreTakenThanCanBeKept) {
  begin({.count = 1});
  const std::string id = nap();
  const auto second = submit("say", {{"text", "x"}});
  const auto* refusal = std::get_if<Refusal>(&second);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 503u);
  EXPECT_TRUE(refusal->retry_after);
  remove(id, caller_);
  ASSERT_TRUE(becomes(id, "done"));
  remove(id, caller_);
  EXPECT_NE(say("now"), "");
}

TEST_F(JobsOf, NoMoreOfArgumentsIsHeldThanMayBe) {
  begin({.arguments = 100});
  const auto first = submit("nap", Json::object(), 60);
  const std::string id = std::get<std::string>(first);
  const auto second = submit("nap", Json::object(), 60);
  ASSERT_TRUE(std::holds_alternative<Refusal>(second));
  EXPECT_EQ(std::get<Refusal>(second).status, 503u);
  EXPECT_TRUE(std::get<Refusal>(second).retry_after);
  remove(id, caller_);
  ASSERT_TRUE(becomes(id, "done"));
  EXPECT_TRUE(std::holds_alternative<std::string>(submit("say", {{"text", "x"}}, 60)))
      << "of what is done they are let go";
}

TEST_F(JobsOf, ACallersResultsDoNotPushOutAnothers) {
  begin({.bytes = 8000});
  const std::string first = std::get<std::string>(submit("say", {{"text", "mine"}}, 1, other_));
  ASSERT_TRUE(becomes(first, "done", other_));
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(becomes(say(std::string(1500, 'x')), "done"));
  ASSERT_TRUE(find(first, other_)) << "it is the oldest, but another had more";
  EXPECT_LE(caller_->holds.results + other_->holds.results, 8000u);
  EXPECT_EQ(remove(first, other_), Jobs::Removal::forgotten);
  EXPECT_EQ(other_->holds.jobs, 0u);
  EXPECT_EQ(other_->holds.results, 0u);
}

TEST_F(JobsOf, ACallerCanNotHaveAllJobsOrAllOfTheirArguments) {
  begin({.count = 8, .arguments = 800});
  std::vector<std::string> ids;
  for (;;) {
    auto taken = submit("nap", Json::object(), 100);
    if (!std::holds_alternative<std::string>(taken)) break;
    ids.push_back(std::get<std::string>(taken));
    ASSERT_LT(ids.size(), 8u);
  }
  EXPECT_EQ(ids.size(), 6u) << "three quarters";
  const auto others = submit("say", {{"text", "x"}}, 100, other_);
  ASSERT_TRUE(std::holds_alternative<std::string>(others));
  for (const std::string& id : ids) remove(id, caller_);
  for (const std::string& id : ids) EXPECT_TRUE(becomes(id, "done"));
  EXPECT_EQ(caller_->holds.arguments, 0u);
}

TEST_F(JobsOf, AWaiterIsToldOnceWhenItIsDone) {
  begin();
  const std::string id = nap();
  ASSERT_TRUE(becomes(id, "running"));
  std::promise<std::string> told;
  there([&] {
    jobs_->wait(id, 60s,
                [&] { told.set_value(Json::parse(*jobs_->find(id, *caller_))["status"]); });
    return 0;
  });
  remove(id, caller_);
  auto future = told.get_future();
  ASSERT_EQ(future.wait_for(kAtOnce), std::future_status::ready);
  EXPECT_EQ(future.get(), "done");
}

TEST_F(JobsOf, AWaiterOfAJobThatGoesOnIsToldAfterItsTime) {
  begin();
  const std::string id = nap();
  std::promise<void> told;
  there([&] {
    jobs_->wait(id, 50ms, [&] { told.set_value(); });
    return 0;
  });
  EXPECT_EQ(told.get_future().wait_for(kAtOnce), std::future_status::ready);
  EXPECT_NE(status(id), "done");
  remove(id, caller_);
  EXPECT_TRUE(becomes(id, "done")) << "and it is not told a second time";
}

TEST_F(JobsOf, IdsCanNotBeGuessed) {
  begin();
  const std::string a = say("x"), b = say("x");
  EXPECT_GE(a.size(), 32u);
  EXPECT_NE(a.substr(0, 16), b.substr(0, 16));
}

}  // namespace
}  // namespace brig::serve
