// Code that is saved while a server runs: no call fails by it, and in the end the new code is called.
#include <dirent.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "serve_program.h"
#include "serve_stdio.h"

namespace {

using namespace e2e;

enum class Way { rename, in_place };

// As editors, git and linkers do it, and as compilers and `cp` do.
void save(const std::string& path, const std::string& text, Way way) {
  const std::string to = way == Way::rename ? path + ".new" : path;
  write_file(to, text);
  chmod(to.c_str(), 0644);
  if (way == Way::rename) {
    EXPECT_EQ(rename(to.c_str(), path.c_str()), 0);
  }
}

// A tool `version`, of one of three kinds, that can be saved anew.
class Code {
 public:
  enum class Kind { module, imported, library };
  explicit Code(Kind kind) : kind_(kind) {
    std::string manifest = "[policy]\ntimeout = '60s'\n";
    if (kind == Kind::module) manifest += "[[python]]\nmodule = 'tools'\n";
    if (kind == Kind::library) manifest += "[[library]]\npath = 'tools.so'\n";
    if (kind == Kind::imported) {
      // The module stays as it is; what it imports from its own path changes.
      write_file(host.make("path") + "/tools.py",
                 "import brig, other\n@brig.tool\ndef version() -> int:\n    return other.N\n");
      manifest += "[[python]]\nmodule = 'tools'\npath = 'path'\n";
    }
    write_file(manifest_path(), manifest);
    set(1000, Way::in_place);
  }

  void set(int version, Way way) const { save(path(), text(version), way); }
  void spoil(Way way) const {
    save(path(), kind_ == Kind::library ? "not a library" : "def version(:\n", way);
  }
  std::string path() const {
    return host / (kind_ == Kind::library  ? "tools.so"
                   : kind_ == Kind::module ? "tools.py"
                                           : "path/other.py");
  }
  std::string manifest_path() const { return host / "brig.toml"; }
  std::vector<std::string> arguments() const { return {"--manifest", manifest_path()}; }

  const HostDirectory host;

 private:
  std::string text(int version) const {
    const std::string number = std::to_string(version);
    if (kind_ == Kind::imported) return "N = " + number + "\n";
    if (kind_ == Kind::module)
      return "import brig\n@brig.tool\ndef version() -> int:\n    return " + number + "\n";
    std::string bytes = read_file(guests() + "/libversion.so");
    const std::size_t at = bytes.find("version 1000");
    EXPECT_NE(at, bytes.npos);
    return bytes.replace(at + 8, 4, number);
  }
  const Kind kind_;
};

Json call(Client& client) { return client.post("/v1/tools/version/call", Json::object()).json(); }

int version_of(const Serve& serve) {
  Client client = serve.client();
  const Json result = call(client);
  EXPECT_EQ(result["report"]["outcome"], "ok") << result;
  return result["output"].is_number() ? result["output"].get<int>() : -1;
}

// Calls back to back, on connections of their own, until it goes.
class Callers {
 public:
  explicit Callers(const Serve& serve) {
    for (int i = 0; i < 3; ++i)
      threads_.emplace_back([this, &serve] {
        Client client = serve.client();
        while (!stop_) {
          const Json result = call(client);
          if (result.value("ok", false))
            ++good_;
          else if (++bad_ == 1)
            fault_ = result.dump();
        }
      });
  }
  ~Callers() {
    stop_ = true;
    for (std::thread& each : threads_) each.join();
    EXPECT_EQ(bad_, 0) << "of " << good_ + bad_ << ": " << fault_;
    EXPECT_GT(good_, 0);
  }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> good_{0}, bad_{0};
  std::string fault_;
  std::vector<std::thread> threads_;
};

int reloads(const Serve& serve, const std::string& result) {
  const std::string text = serve.get("/metrics").body,
                    name = "brig_reloads_total{result=\"" + result + "\"} ";
  const std::size_t at = text.find(name);
  return at == text.npos ? -1 : atoi(text.c_str() + at + name.size());
}

class ServeCode : public testing::TestWithParam<std::tuple<Code::Kind, Way>> {
 protected:
  Way way() const { return std::get<Way>(GetParam()); }
  const Code code_{std::get<Code::Kind>(GetParam())};
};

TEST_P(ServeCode, NoCallFailsWhileItIsSavedAndTheNewOneIsCalledInTheEnd) {
  Serve serve({.arguments = code_.arguments()});
  EXPECT_EQ(version_of(serve), 1000);
  const Callers callers(serve);
  for (int version = 1001; version <= 1003; ++version) {
    code_.set(version, way());
    ASSERT_TRUE(comes_true([&] { return version_of(serve) == version; }, 4 * kSoon))
        << serve.program().said();
  }
  EXPECT_TRUE(contains(serve.program().said(), "the tools were reloaded: '" + code_.path()))
      << serve.program().said();
  EXPECT_GE(reloads(serve, "ok"), 3);
}

TEST_P(ServeCode, ThatCanNotBeLoadedLeavesTheOldOne) {
  Serve serve({.arguments = code_.arguments()});
  EXPECT_EQ(reloads(serve, "failed"), 0);
  const Callers callers(serve);
  code_.spoil(way());
  ASSERT_TRUE(serve.program().says("the tools stay as they were")) << serve.program().said();
  for (int i = 0; i < 20; ++i) ASSERT_EQ(version_of(serve), 1000);
  EXPECT_GE(reloads(serve, "failed"), 1);
  EXPECT_EQ(reloads(serve, "ok"), 0);
  code_.set(1001, way());
  EXPECT_TRUE(comes_true([&] { return version_of(serve) == 1001; }, 4 * kSoon))
      << serve.program().said();
}

std::string name_of_case(const testing::TestParamInfo<std::tuple<Code::Kind, Way>>& info) {
  const char* kinds[] = {"Module", "Imported", "Library"};
  return std::string(kinds[static_cast<int>(std::get<0>(info.param))]) +
         (std::get<1>(info.param) == Way::rename ? "ByRename" : "InPlace");
}

INSTANTIATE_TEST_SUITE_P(Saved, ServeCode,
                         testing::Combine(testing::Values(Code::Kind::module, Code::Kind::imported,
                                                          Code::Kind::library),
                                          testing::Values(Way::rename, Way::in_place)),
                         name_of_case);

void kill_zygotes(const Serve& serve, pid_t server) {
  (void)serve;
  for (const pid_t pid : descendants_named(server, "brig-zygote")) kill(pid, SIGKILL);
}

class ServeCodeGone : public testing::TestWithParam<Code::Kind> {};

// What was judged is what is loaded, also by a zygote that is started anew.
TEST_P(ServeCodeGone, DoesNotMatterToTheToolsThatThereAre) {
  const Code code(GetParam());
  Serve serve({.arguments = code.arguments()});
  EXPECT_EQ(version_of(serve), 1000);
  unlink(code.path().c_str());
  ASSERT_TRUE(serve.program().says("stay as they were")) << serve.program().said();
  for (int i = 0; i < 20; ++i) ASSERT_EQ(version_of(serve), 1000);
  kill_zygotes(serve, serve.program().pid());
  Client client = serve.client();
  EXPECT_TRUE(comes_true([&] { return call(client).value("output", Json()) == 1000; }));
  code.set(1001, Way::in_place);
  EXPECT_TRUE(comes_true([&] { return call(client).value("output", Json()) == 1001; }, 4 * kSoon))
      << serve.program().said();
}

INSTANTIATE_TEST_SUITE_P(Deleted, ServeCodeGone,
                         testing::Values(Code::Kind::module, Code::Kind::library),
                         [](const auto& code) {
                           return code.param == Code::Kind::module ? "Module" : "Library";
                         });

TEST(ServeCodeBurst, AHundredSavesAreOneReload) {
  const Code code(Code::Kind::module);
  Serve serve({.arguments = code.arguments()});
  const Callers callers(serve);
  for (int i = 1; i <= 100; ++i) code.set(1000 + i, i % 2 ? Way::rename : Way::in_place);
  EXPECT_TRUE(comes_true([&] { return version_of(serve) == 1100; }, 4 * kSoon))
      << serve.program().said();
  EXPECT_LT(reloads(serve, "ok") + reloads(serve, "failed"), 20) << serve.program().said();
}

// A module that imports what is not there, then is, then is right.
TEST(ServeCodeFailed, IsTriedAgainWhenWhatItImportsChanges) {
  const Code code(Code::Kind::imported);
  Serve serve({.arguments = code.arguments()});
  EXPECT_EQ(version_of(serve), 1000);
  save(code.host / "path/tools.py",
       "import brig, third\n@brig.tool\ndef version() -> int:\n    return third.N\n", Way::rename);
  ASSERT_TRUE(serve.program().says("No module named 'third'")) << serve.program().said();
  save(code.host / "path/third.py", "N = (", Way::in_place);
  ASSERT_TRUE(serve.program().says("third.py\", line 1")) << serve.program().said();
  save(code.host / "path/third.py", "N = 1001\n", Way::in_place);
  EXPECT_TRUE(comes_true([&] { return version_of(serve) == 1001; }, 4 * kSoon))
      << serve.program().said();
}

TEST(ServeCodeOther, FilesBesideItAreNoReason) {
  const Code code(Code::Kind::imported);
  Serve serve({.arguments = code.arguments()});
  save(code.host / "path/data.txt", "x", Way::rename);
  save(code.host / "path/unused.py", "(", Way::rename);
  code.set(1001, Way::rename);
  EXPECT_TRUE(comes_true([&] { return version_of(serve) == 1001; }, 4 * kSoon));
  EXPECT_EQ(reloads(serve, "ok"), 1);
  EXPECT_EQ(reloads(serve, "failed"), 0);
}

TEST(McpStdioCode, IsReloadedToo) {
  const Code code(Code::Kind::imported);
  Stdio server("[[python]]\nmodule = 'tools'\npath = '" + code.host.path() + "/path'\n");
  server.open();
  int id = 0;
  const auto version = [&] {
    return server.ask(
        message(++id, "tools/call",
                call_of("version", Json::object())))["result"]["structuredContent"]["result"];
  };
  const Json first = version();
  code.set(1001, Way::rename);
  EXPECT_TRUE(comes_true([&] { return version() != first; }, 4 * kSoon)) << server.program().said();
  EXPECT_TRUE(server.program().says("the tools were reloaded")) << server.program().said();
}

}  // namespace
