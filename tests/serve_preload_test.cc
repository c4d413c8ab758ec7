// --preload, and [run_python] of a manifest: modules that run_python has imported already.
#include "serve_builtin.h"
#include "serve_mcp.h"
#include "serve_stdio.h"

namespace {

using namespace e2e;

// Of the standard library, and not imported by anything that brig needs.
constexpr const char* kLoaded =
    "import sys; ['wave' in sys.modules, 'colorsys' in sys.modules, 'plistlib' in sys.modules]";

bool can_run_python(const Serve& serve) {
  const auto tools = serve.tools();
  return std::find(tools.begin(), tools.end(), "run_python") != tools.end();
}

Json value_of(const Serve& serve, const std::string& code) {
  return serve.post("/v1/tools/run_python/call", {{"arguments", {{"code", code}}}})
      .json()["output"]["value"];
}

TEST(ServePreload, AModuleIsThereBeforeTheCode) {
  {
    Serve plain;
    BRIG_NEEDS(can_run_python(plain), "no Python interpreter that can be used");
    EXPECT_EQ(value_of(plain, kLoaded), (Json{false, false, false}));
  }
  Serve serve({.arguments = {"--preload", "wave", "--preload", "xml.dom.minidom"}});
  EXPECT_EQ(value_of(serve, kLoaded), (Json{true, false, false}));
  EXPECT_EQ(value_of(serve,
                     "import sys, xml; ['xml.dom.minidom' in sys.modules, "
                     "hasattr(xml.dom, 'minidom')]"),
            (Json{true, true}));
}

TEST(ServePreload, WhatCantBeImportedIsRefusedByName) {
  {
    Serve plain;
    BRIG_NEEDS(can_run_python(plain), "no Python interpreter that can be used");
  }
  for (const char* command : {"mcp", "serve"}) {
    const Result missing = brig_program(
        {command, "--audit", "none", "--preload", "json", "--preload", "no_such_module"});
    EXPECT_EQ(missing.code, 125) << missing;
    EXPECT_TRUE(contains(missing.err, "preload: importing module 'no_such_module' failed"))
        << missing;
    EXPECT_TRUE(contains(missing.err, "No module named 'no_such_module'")) << missing;
    const Result odd = brig_program({command, "--audit", "none", "--preload", "a b"});
    EXPECT_EQ(odd.code, 125) << odd;
    EXPECT_TRUE(contains(odd.err, "preload: 'a b' is not the name of a module")) << odd;
    EXPECT_EQ(brig_program({command, "--audit", "none", "--preload", ""}).code, 125);
  }
}

TEST(ServePreload, AManifestNamesThemForTheBuiltIns) {
  const std::string manifest =
      "[run_python]\npreload = ['wave']\n[[command]]\nname = 'a'\nargv = ['true']\n";
  Serve serve({.arguments = {"--builtins", "--preload", "plistlib", "--preload", "plistlib"},
               .manifest = manifest});
  BRIG_NEEDS(can_run_python(serve), "no Python interpreter that can be used");
  EXPECT_EQ(value_of(serve, kLoaded), (Json{true, false, true}));
  // What is saved anew is loaded anew.
  write_file(serve.manifest(), "[run_python]\npreload = ['colorsys']\n");
  EXPECT_TRUE(serve.program().says("the manifest was reloaded"));
  EXPECT_EQ(value_of(serve, kLoaded), (Json{false, true, true}));
  write_file(serve.manifest(), "[run_python]\npreload = ['no_such_module']\n");
  EXPECT_TRUE(serve.program().says("the manifest stays as it was"));
  EXPECT_TRUE(serve.program().says("no_such_module"));
  EXPECT_EQ(value_of(serve, kLoaded), (Json{false, true, true}));
}

TEST(ServePreload, WithoutTheBuiltInsThereIsNothingToPreloadFor) {
  const HostDirectory host;
  write_file(host / "brig.toml",
             "[run_python]\npreload = ['wave']\n[[command]]\nname = 'a'\nargv = ['true']\n");
  const Result result = brig_program(
      {"mcp", "--audit", "none", "--manifest", host / "brig.toml", "--preload", "wave"});
  EXPECT_EQ(result.code, 125) << result;
  EXPECT_TRUE(contains(result.err, "--builtins")) << result;
  const Result told = brig_program({"mcp", "--audit", "none", "--manifest", host / "brig.toml"});
  EXPECT_EQ(told.code, 0) << told;
  EXPECT_TRUE(contains(told.err, "[run_python]")) << told;
}

}  // namespace
