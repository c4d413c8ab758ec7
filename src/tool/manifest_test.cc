#include <brig/error.h>
#include <brig/manifest.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "testing/refusal.h"

namespace brig {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

Manifest read(const std::string& text) { return manifest_from_toml(text, "m", "/no"); }
std::string fault(const std::string& text) {
  return refusal([&] { read(text); });
}
// The fault of a command that is right except for these lines. The first of them is line 4.
std::string command_fault(const std::string& lines) {
  return fault("[[command]]\nname = 'c'\nargv = ['true']\n" + lines);
}

std::string repeated(const std::string& piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

constexpr const char* kGreet = R"(
[policy]
memory = "256M"
timeout = "10s"

[[command]]
name = "greet"
description = "Greets someone."
argv = ["echo", "hello {who}", "{times}", "{loud}"]
parameters.who = { type = "string", description = "whom to greet", minLength = 1 }
parameters.times = { type = "integer", default = 2 }
parameters.loud = { type = "boolean", optional = true }
policy = { timeout = "2s" }
)";

TEST(Manifest, OfNothingHasNothing) {
  for (const char* text : {"", "# none", "[policy]", "command = []", "library = []"}) {
    const Manifest manifest = read(text);
    EXPECT_TRUE(manifest.tools.list().empty());
    EXPECT_TRUE(manifest.tools.libraries().empty());
    EXPECT_EQ(manifest.policy.limits.timeout, 30s);
  }
}

TEST(Manifest, DeclaresACommand) {
  const Manifest manifest = read(kGreet);
  const auto tool = manifest.tools.find("greet");
  ASSERT_TRUE(tool);
  EXPECT_EQ(tool->description, "Greets someone.");
  EXPECT_EQ(tool->argv, (std::vector<std::string>{"echo", "hello {who}", "{times}", "{loud}"}));
  EXPECT_EQ(tool->input_schema, Json::parse(R"({"type": "object", "additionalProperties": false,
    "required": ["who"], "properties": {
      "who": {"type": "string", "description": "whom to greet", "minLength": 1},
      "times": {"type": "integer", "default": 2}, "loud": {"type": "boolean"}}})"));
  EXPECT_FALSE(tool->output_schema);
  EXPECT_TRUE(tool->options.coerce);
  EXPECT_FALSE(tool->options.annotations.read_only);
  EXPECT_TRUE(tool->options.annotations.destructive);
  EXPECT_FALSE(tool->options.annotations.idempotent);
  EXPECT_TRUE(tool->options.annotations.open_world);
}

TEST(Manifest, ACommandNeedsNoMoreThanANameAndWords) {
  const auto tool = read("[[command]]\nname = 'c'\nargv = ['true']").tools.find("c");
  ASSERT_TRUE(tool);
  EXPECT_FALSE(tool->options.policy) << "the manifest's";
  EXPECT_EQ(tool->input_schema["properties"], Json::object());
  EXPECT_EQ(tool->input_schema["additionalProperties"], false);
}

TEST(Manifest, ReadsEveryKeyOfACommand) {
  const Manifest manifest = read(R"(
[[command]]
name = "c"
argv = ["x", "{a}"]
read_only = true
destructive = false
idempotent = true
open_world = false
coerce = false
[command.input_schema]
type = "object"
required = ["a"]
[command.input_schema.properties.a]
anyOf = [{ type = "string" }, { "$ref" = "#/$defs/n" }]
[command.input_schema."$defs"]
n = { type = "number", minimum = 1.5 }
[command.output_schema]
type = "string"
maxLength = 5
)");
  const auto tool = manifest.tools.find("c");
  ASSERT_TRUE(tool);
  EXPECT_EQ(tool->input_schema, Json::parse(R"({"type": "object", "required": ["a"],
    "properties": {"a": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/n"}]}},
    "$defs": {"n": {"type": "number", "minimum": 1.5}}})"));
  EXPECT_EQ(*tool->output_schema, Json::parse(R"({"type": "string", "maxLength": 5})"));
  EXPECT_TRUE(tool->options.annotations.read_only);
  EXPECT_FALSE(tool->options.annotations.destructive);
  EXPECT_TRUE(tool->options.annotations.idempotent);
  EXPECT_FALSE(tool->options.annotations.open_world);
  EXPECT_FALSE(tool->options.coerce);
}

// --- policies ---

TEST(Manifest, APolicyHasLimitsDirectlyAndTheTablesOfAPolicyFile) {
  const Policy policy = read(R"(
[policy]
memory = "8M"
cpu_time = 3
network = "loopback"
isolation = "jail"
limits.grace = "1s"
[policy.files]
read = ["/usr"]
[policy.environment]
set = { A = "b" }
[policy.syscalls]
deny = ["kill"]
)")
                            .policy;
  EXPECT_EQ(policy.limits.memory, 8_MiB);
  EXPECT_EQ(policy.limits.cpu_time, 3s);
  EXPECT_EQ(policy.limits.grace, 1s);
  EXPECT_EQ(policy.network, Network::loopback);
  EXPECT_EQ(policy.files.read, std::vector<std::string>{"/usr"});
  EXPECT_EQ(policy.environment.set.at("A"), "b");
  EXPECT_EQ(policy.syscalls.deny, std::vector<std::string>{"kill"});
}

TEST(Manifest, AToolsPolicyIsTheDefaultWithWhatDiffers) {
  // The policy comes last: the order of the tables does not matter.
  const Manifest manifest = read(R"(
[[command]]
name = "c"
argv = ["true"]
[command.policy]
memory = "16M"
network = "none"
files.read = ["/etc"]
environment.set = { B = "c", A = "other" }
preset = ["git"]
user = 1000

[[command]]
name = "plain"
argv = ["true"]

[policy]
memory = "8M"
processes = 5
network = "loopback"
files = { read = ["/usr", "/usr/bin"], hide = ["/usr/share"] }
environment.set = { A = "b", C = "d" }
preset = ["node", "rust"]
user = "root"
)");
  const Policy& policy = *manifest.tools.find("c")->options.policy;
  EXPECT_EQ(policy.preset, std::vector<std::string>{"git"}) << "a list is replaced";
  EXPECT_EQ(policy.user, 1000u);
  EXPECT_EQ(manifest.policy.user, 0u);
  EXPECT_EQ(policy.limits.memory, 16_MiB);
  EXPECT_EQ(policy.limits.processes, 5u);
  EXPECT_EQ(policy.network, Network::none);
  EXPECT_EQ(policy.files.read, std::vector<std::string>{"/etc"}) << "a list is replaced";
  EXPECT_EQ(policy.files.hide, std::vector<std::string>{"/usr/share"});
  EXPECT_EQ(policy.environment.set,
            (std::map<std::string, std::string>{{"A", "other"}, {"B", "c"}, {"C", "d"}}));
  EXPECT_FALSE(manifest.tools.find("plain")->options.policy);
  EXPECT_EQ(manifest.policy.limits.memory, 8_MiB);
}

TEST(Manifest, AToolMayHaveHostsOfItsOwn) {
  const Manifest manifest = read(R"(
[policy.network]
allow = ["api.github.com", "*.pypi.org"]
deny = ["gist.github.com"]
[[command]]
name = "all"
argv = ["true"]
[[command]]
name = "one"
argv = ["true"]
policy.network.allow = ["db.example.org:5432"]
[[command]]
name = "fewer"
argv = ["true"]
policy.network.deny = ["test.pypi.org"]
[[command]]
name = "none"
argv = ["true"]
policy = { network = "none", connections = 3, upload = "1M" }
)");
  EXPECT_EQ(manifest.policy.network,
            Network::to({"api.github.com", "*.pypi.org"}, {"gist.github.com"}));
  EXPECT_FALSE(manifest.tools.find("all")->options.policy);
  const Policy& one = *manifest.tools.find("one")->options.policy;
  EXPECT_EQ(one.network, Network::to({"db.example.org:5432"}, {"gist.github.com"}))
      << "a list is replaced, and what is denied stays so";
  const Policy& fewer = *manifest.tools.find("fewer")->options.policy;
  EXPECT_EQ(fewer.network, Network::to({"api.github.com", "*.pypi.org"}, {"test.pypi.org"}));
  const Policy& none = *manifest.tools.find("none")->options.policy;
  EXPECT_EQ(none.network, Network(Network::none));
  EXPECT_EQ(none.limits.connections, 3u);
  EXPECT_EQ(none.limits.upload, 1_MiB);
}

TEST(Manifest, AMistakeInAListOfHostsHasItsLineAndItsTool) {
  EXPECT_EQ(fault("[policy.network]\nallow = [\n'a.example',\n'*']").substr(0, 30),
            "m:4: policy.network.allow: '*'");
  EXPECT_EQ(command_fault("policy.network = { deny = ['a.example'] }"),
            "m:4: command 'c': policy.network.allow: is empty; list a host, or use network = "
            "\"none\"");
  EXPECT_EQ(command_fault("policy = { network = 'api.github.com' }"),
            "m:4: command 'c': policy.network: 'api.github.com' is a host; hosts stand in a table: "
            "network = { allow = [\"api.github.com\"] }");
}

TEST(Manifest, AMistakeInAPolicyHasItsLineAndItsTool) {
  EXPECT_EQ(fault("[policy]\nmemroy = '1G'"),
            "m:2: unknown key 'memroy' in [policy]; did you mean 'memory'?");
  EXPECT_EQ(fault("[policy]\nmemory = true"),
            "m:2: policy.memory: expected a size such as \"512M\" or \"1.5G\", got a boolean");
  EXPECT_EQ(fault("[policy]\n\nmemory = '1M'"),
            "m:3: policy.memory: 1 MiB is out of range; use 4 MiB to 1 EiB");
  EXPECT_EQ(fault("[policy.limits]\nmemory = '1M'"),
            "m:2: policy.limits.memory: 1 MiB is out of range; use 4 MiB to 1 EiB");
  EXPECT_EQ(fault("policy = 1"), "m:1: policy: expected a table, [policy], got an integer");
  EXPECT_EQ(command_fault("policy = { timeout = '25h' }"),
            "m:4: command 'c': policy.timeout: 25 h is out of range; use 1 ms to 24 h");
  EXPECT_EQ(command_fault("policy = { tiemout = '2s' }"),
            "m:4: unknown key 'tiemout' in [command.policy]; did you mean 'timeout'?");
  EXPECT_EQ(
      command_fault("[command.policy.files]\nread = [\n'/usr',\n'data']"),
      "m:7: command 'c': policy.files.read: 'data': not absolute; write the path from '/' on");
  EXPECT_EQ(command_fault("policy = '2s'"),
            "m:4: command 'c': policy: expected a table such as { timeout = \"2s\" }, got '2s'");
  EXPECT_EQ(fault("[policy.files]\nmemory = 1"),
            "m:2: unknown key 'memory' in [policy.files]; it belongs in [policy]");
}

TEST(Manifest, ALimitIsGivenOnce) {
  EXPECT_EQ(fault("[policy]\nmemory = '8M'\nlimits.memory = '9M'"),
            "m:3: policy.limits.memory: is another name of policy.memory; keep one");
  EXPECT_EQ(fault("[policy]\ntimeout = 1\nwall_time = 2"),
            "m:3: policy.wall_time: is the old name of policy.timeout; keep that one");
  EXPECT_EQ(fault("[policy]\ntimeout = 1\nlimits.wall_time = 2"),
            "m:3: policy.limits.wall_time: is another name of policy.timeout; keep one");
}

TEST(Manifest, AMistakeInTheDefaultIsNotToldAgainForEachTool) {
  EXPECT_EQ(
      fault("[policy]\nmemory = '1M'\n[[command]]\nname = 'a'\nargv = ['x']\n"
            "policy = { timeout = 1 }\n[[command]]\nname = 'b'\nargv = ['x']\npolicy = { grace "
            "= '9h' }"),
      "m:2: policy.memory: 1 MiB is out of range; use 4 MiB to 1 EiB\n"
      "m:10: command 'b': policy.grace: 9 h is out of range; use 0 ms to 1 min");
}

TEST(Manifest, WhatIsTooMuchOnlyTogetherHasTheLineOfTheToolsPolicy) {
  const std::string many = "[" + repeated("'/usr',", 1000) + "]";
  EXPECT_EQ(
      fault("[policy]\nfiles.read = " + many +
            "\n[[command]]\nname = 'c'\nargv = ['x']\npolicy = { files = { hide = " + many +
            " } }"),
      "m:6: command 'c': policy.files.hide: more than 1024 paths in all; list their directories");
}

// --- what is wrong ---

TEST(Manifest, AnUnknownKeyIsNamedWithItsNearest) {
  EXPECT_EQ(fault("\n[[comand]]\nname = 'c'"),
            "m:2: unknown key 'comand'; did you mean 'command'?");
  EXPECT_EQ(fault("[polcy]\nmemory = 1"), "m:1: unknown table [polcy]; did you mean 'policy'?");
  EXPECT_EQ(fault("[limits]\nmemory = 1"), "m:1: unknown table [limits]; it belongs in [policy]");
  EXPECT_EQ(fault("timeout = 1"), "m:1: unknown key 'timeout'; it belongs in [policy]");
  EXPECT_EQ(command_fault("\nreadonly = true"),
            "m:5: unknown key 'readonly' in [command]; did you mean 'read_only'?");
  EXPECT_EQ(fault("[[library]]\npth = 'x'"),
            "m:1: library: has no path\nm:2: unknown key 'pth' in [library]; did you mean 'path'?");
  EXPECT_EQ(command_fault("parameters.x = { type = 'string', optionl = true }"),
            "m:4: command 'c': parameters.x.optionl: did you mean 'optional'?");
  EXPECT_EQ(
      command_fault("parameters.x = { descripton = 'd' }"),
      "m:4: command 'c': parameters.x.descripton: not a keyword that is supported; did you mean "
      "'description'?");
}

TEST(Manifest, AWrongTypeIsNamed) {
  EXPECT_EQ(fault("[command]\nname = 'c'"),
            "m:1: command: expected tables, [[command]], got a table");
  EXPECT_EQ(fault("command = 1"), "m:1: command: expected tables, [[command]], got an integer");
  EXPECT_EQ(fault("command = [1]"),
            "m:1: command[0]: expected a table, [[command]], got an integer");
  EXPECT_EQ(command_fault("description = 1"),
            "m:4: command 'c': description: expected a string, got an integer");
  EXPECT_EQ(command_fault("coerce = 'yes'"),
            "m:4: command 'c': coerce: expected true or false, got 'yes'");
  EXPECT_EQ(
      command_fault("parameters = ['x']"),
      "m:4: command 'c': parameters: expected a table with a JSON Schema for each, got an array");
  EXPECT_EQ(
      command_fault("parameters.x = 'string'"),
      "m:4: command 'c': parameters.x: expected a JSON Schema such as { type = \"string\" }, got "
      "'string'");
  EXPECT_EQ(command_fault("parameters.x = { optional = 1 }"),
            "m:4: command 'c': parameters.x.optional: expected true or false, got an integer");
  EXPECT_EQ(command_fault("input_schema = 'x'"),
            "m:4: command 'c': input_schema: expected a JSON Schema as a table, got 'x'");
  EXPECT_EQ(fault("[[command]]\nname = 1\nargv = ['x']"),
            "m:2: command 1: name: expected a string, got an integer");
  EXPECT_EQ(
      fault("[[command]]\nname = 'c'\nargv = 'ls -l'"),
      "m:3: command 'c': argv: expected an array of words such as [\"echo\", \"hello {who}\"], "
      "got 'ls -l'");
  EXPECT_EQ(fault("[[command]]\nname = 'c'\nargv = [\n'ls',\n1,\n2]"),
            "m:5: command 'c': argv[1]: expected a string, got an integer\n"
            "m:6: command 'c': argv[2]: expected a string, got an integer");
}

TEST(Manifest, WhatIsMissingIsToldWithTheLineOfTheCommand) {
  EXPECT_EQ(
      fault("\n[[command]]\n[[command]]\nname = 'b'"),
      "m:2: command 1: has no name\nm:2: command 1: has no argv\nm:3: command 'b': has no argv");
  EXPECT_EQ(fault("[[command]]\nname = 'c'\nargv = []"),
            "m:3: command 'c': argv: it has no program");
}

TEST(Manifest, ANameMustBeOneThatClientsTake) {
  for (const std::string name : {"", "a b", "a/b", "\xC3\xBC"})
    EXPECT_TRUE(contains(fault("[[command]]\nname = '" + name + "'\nargv = ['x']"),
                         "a name has 1 to 64 characters"))
        << name;
  EXPECT_EQ(
      fault("[[command]]\n\nname = '" + std::string(65, 'x') + "'\nargv = ['x']").substr(0, 4),
      "m:3:");
  EXPECT_EQ(fault("[[command]]\nname = '" + std::string(64, 'x') + "'\nargv = ['x']"), "");
}

TEST(Manifest, ANameIsTakenOnce) {
  EXPECT_EQ(
      fault("[[command]]\nname = 'a'\nargv = ['x']\n[[command]]\nargv = ['y']\nname = 'a'\n"
            "[[command]]\nname = 'a'"),
      "m:6: command 'a': the command on line 1 has the same name\nm:7: command 'a': has no argv\n"
      "m:8: command 'a': the command on line 1 has the same name");
}

TEST(Manifest, PlaceholdersAreParameters) {
  EXPECT_EQ(
      fault("[[command]]\nname = 'c'\nargv = [\n'x',\n'{wo}',\n'{',\n'a}']\nparameters.who = {}"),
      "m:5: command 'c': argv: '{wo}': 'wo' is not a parameter; did you mean 'who'?\n"
      "m:6: command 'c': argv: '{': a '{' without its '}'; write \"{{\" for the character "
      "itself\n"
      "m:7: command 'c': argv: 'a}': a '}' without its '{'; write \"}}\" for the character "
      "itself");
  EXPECT_EQ(fault("[[command]]\nname = 'c'\nargv = ['{p}']\nparameters.p = {}"),
            "m:3: command 'c': argv: '{p}': the program itself can't be a parameter");
  EXPECT_EQ(fault("[[command]]\nname = 'c'\nargv = ['x', \"a\\u0000b\"]"),
            "m:3: command 'c': argv: 'a\\x00b': holds a NUL byte");
  EXPECT_EQ(fault("[[command]]\nname = 'c'\nargv = ['x', '{a}', '{b}']\n"
                  "input_schema = { type = 'object', properties = { a = {} } }"),
            "m:3: command 'c': argv: '{b}': 'b' is not a parameter");
}

TEST(Manifest, AParameterWithAMistakeIsStillOne) {
  EXPECT_EQ(
      fault("[[command]]\nname = 'c'\nargv = ['x', '{a}']\nparameters.a = { type = 'strng' }"),
      "m:4: command 'c': parameters.a.type: '\"strng\"' is not a type");
}

TEST(Manifest, EveryMistakeOfASchemaHasItsLine) {
  EXPECT_EQ(command_fault("[command.parameters.a]\ntype = 'strng'\nminimm = 1\n"
                          "[command.parameters.b]\nitems = { type = 'string', minLength = -1 }\n"
                          "anyOf = [\n{ type = 'string' },\n{ type = 'x' },\n{ pattern = '(' }]\n"),
            "m:5: command 'c': parameters.a.type: '\"strng\"' is not a type\n"
            "m:6: command 'c': parameters.a.minimm: not a keyword that is supported; did you mean "
            "'minimum'?\n"
            "m:8: command 'c': parameters.b.items.minLength: must be a whole number, not negative\n"
            "m:11: command 'c': parameters.b.anyOf.1.type: '\"x\"' is not a type\n"
            "m:12: command 'c': parameters.b.anyOf.2.pattern: '(' is not an expression that RE2 "
            "knows: missing ): (");
  EXPECT_EQ(
      command_fault("[command.input_schema]\ntype = 'object'\n[command.input_schema.properties]\n"
                    "a = { type = 'nul' }\nb = { '$ref' = '#/$defs/none' }"),
      "m:4: command 'c': input_schema.$defs.none: a $ref points here, but there is no schema here\n"
      "m:7: command 'c': input_schema.properties.a.type: '\"nul\"' is not a type");
}

TEST(Manifest, ASchemaIsJson) {
  EXPECT_EQ(
      command_fault("parameters.a = { default = 2020-01-01 }\nparameters.b = { minimum = inf }"),
      "m:4: command 'c': parameters.a.default: expected a JSON value (a date is a string: write "
      "it in quotes), got a date\n"
      "m:5: command 'c': parameters.b.minimum: JSON has no such number");
}

TEST(Manifest, AnInputSchemaIsAnObjects) {
  EXPECT_EQ(command_fault("input_schema = { type = 'string' }"),
            "m:4: command 'c': input_schema: must have type = \"object\"");
  EXPECT_EQ(command_fault("input_schema = {}"),
            "m:4: command 'c': input_schema: must have type = \"object\"");
  EXPECT_EQ(command_fault("parameters.x = {}\ninput_schema = { type = 'object' }"),
            "m:5: command 'c': input_schema: it means the same as parameters; keep one");
}

TEST(Manifest, TheOutputOfACommandIsText) {
  EXPECT_EQ(command_fault("output_schema = { type = 'object' }"),
            "m:4: command 'c': output_schema: a command's output is text: its type must be "
            "\"string\"");
  EXPECT_EQ(command_fault("output_schema = { type = ['string', 'null'] }"), "");
  EXPECT_EQ(command_fault("output_schema = { enum = ['yes', 'no'] }"), "");
}

TEST(Manifest, ADefaultFitsItsParameter) {
  EXPECT_EQ(command_fault("[command.parameters.n]\ntype = 'integer'\ndefault = 'x'"),
            "m:6: command 'c': parameter 'n': its default does not fit: expected an integer, not a "
            "string");
  EXPECT_EQ(
      command_fault("input_schema = { type = 'object', required = ['other'], properties = { n = "
                    "{ maximum = 1, default = 2 } } }"),
      "m:4: command 'c': parameter 'n': its default does not fit: expected at most 1");
  EXPECT_EQ(command_fault("parameters.n = { default = 1, optional = false }"),
            "m:4: command 'c': parameters.n.optional: a parameter with a default is optional");
  EXPECT_EQ(command_fault("parameters.n = { default = 1, optional = true }"), "");
}

TEST(Manifest, AllMistakesAreToldInTheOrderOfTheFile) {
  EXPECT_EQ(
      fault("[[command]]\nname = 'a b'\nargv = ['x', '{y}']\ncolor = 1\n"
            "[policy]\nmemory = 'lots'\n"
            "[[command]]\nname = 'ok'\nargv = ['x']\n"
            "[[command]]\nname = 'd'\nargv = ['x']\npolicy.network = 'all'\n"
            "[[library]]\npath = 7\n[extra]"),
      "m:2: command 'a b': name: a name has 1 to 64 characters of A-Z, a-z, 0-9, '_', '-' and "
      "'.'\n"
      "m:3: command 'a b': argv: '{y}': 'y' is not a parameter\n"
      "m:4: unknown key 'color' in [command]; known keys: name, description, argv, parameters, "
      "input_schema, output_schema, policy, read_only, destructive, idempotent, open_world, "
      "coerce\n"
      "m:6: policy.memory: expected a size such as \"512M\" or \"1.5G\", got 'lots'\n"
      "m:13: command 'd': policy.network: expected one of \"none\", \"loopback\", \"host\", got "
      "'all'\n"
      "m:15: library: path: expected a path, got an integer\n"
      "m:16: unknown table [extra]; known keys: policy, command, library, python, run_python");
}

TEST(Manifest, WhatIsNotTomlHasItsLine) {
  EXPECT_EQ(fault("[policy]\nmemory = ").substr(0, 4), "m:2:");
  EXPECT_EQ(fault("[[command]]\nname = 'a'\nname = 'b'").substr(0, 4), "m:3:");
  for (const char* text : {"[=", "[[=]]", "[", "\xFF", "a\nb"})
    EXPECT_EQ(fault(text).substr(0, 2), "m:") << text;
}

TEST(Manifest, IsBounded) {
  EXPECT_EQ(fault(std::string(1_MiB, '\n')), "");
  EXPECT_EQ(fault(std::string(1_MiB + 1, '\n')), "m: longer than 1 MiB; this is not a manifest");
  EXPECT_EQ(fault(repeated("[[command]]\n", 1001)),
            "m:1: command: more than 1000; use several manifests");
  EXPECT_EQ(fault(repeated("[[library]]\n", 101)),
            "m:1: library: more than 100; use several manifests");
  EXPECT_TRUE(contains(fault("[" + repeated("a.", 100'000) + "a]"), "more than 32 dots"));
  std::string many;
  for (int i = 0; i < 101; ++i) many += "parameters.p" + std::to_string(i) + " = {}\n";
  EXPECT_EQ(command_fault(many),
            "m:4: command 'c': parameters: more than 100; a model could not use them");
  EXPECT_EQ(fault("[[command]]\nname = 'c'\nargv = [" + repeated("'x',", 1001) + "]"),
            "m:3: command 'c': argv: more than 1000 words");
  EXPECT_TRUE(contains(
      command_fault("parameters.a = { default = " + repeated("[", 200) + repeated("]", 200) + " }"),
      "nested deeper than 128"));
  EXPECT_TRUE(contains(
      command_fault("parameters.a = " + repeated("{ items = ", 70) + "{}" + repeated("}", 70)),
      "nested deeper than 64"));
  const std::string message = fault(repeated("[[command]]\n", 1000));
  EXPECT_TRUE(message.ends_with("\nm: and 1900 more")) << message;
}

TEST(Manifest, AnyBytesGiveAManifestOrAnError) {
  std::mt19937 random(5);
  const std::string letters = "[]{}=.,\"'\\\n#a1 \0\xFF"s;
  for (int round = 0; round < 3'000; ++round) {
    std::string text = kGreet;
    for (unsigned edits = 1 + static_cast<unsigned>(random() % 6); edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      const char letter = letters[random() % letters.size()];
      switch (random() % 3) {
        case 0: text[at] = letter; break;
        case 1: text.insert(at, 1 + random() % 4, letter); break;
        default: text.erase(at, 1 + random() % 8);
      }
    }
    const std::string message = fault(text);  // Anything but Error would end the test.
    EXPECT_TRUE(message.empty() || message.starts_with("m:")) << message;
  }
}

// --- files ---

class ManifestFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "/brig-XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    directory_ = std::filesystem::canonical(path);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ + "/" + name, std::ios::binary) << text;
    return directory_ + "/" + name;
  }
  std::string directory_;
};

TEST_F(ManifestFile, ALibraryIsRelativeToIt) {
  file("libgeo.so", "");
  const std::string path =
      file("brig.toml",
           "policy.memory = '8M'\n[[library]]\npath = './libgeo.so'\n[[library]]\n"
           "path = '/bin/sh'\npolicy = { timeout = 2 }\n");
  const Manifest manifest = manifest_from_toml_file(path);
  ASSERT_EQ(manifest.tools.libraries().size(), 2u);
  EXPECT_EQ(std::filesystem::path(manifest.tools.libraries()[0].path).lexically_normal(),
            directory_ + "/libgeo.so");
  EXPECT_FALSE(manifest.tools.libraries()[0].policy);
  EXPECT_EQ(manifest.tools.libraries()[1].path, "/bin/sh");
  EXPECT_EQ(manifest.tools.libraries()[1].policy->limits.timeout, 2s);
  EXPECT_EQ(manifest.tools.libraries()[1].policy->limits.memory, 8_MiB);
}

TEST_F(ManifestFile, ALibraryIsThereOnce) {
  file("a.so", "");
  const std::string path =
      file("brig.toml",
           "[[library]]\npath = 'a.so'\n[[library]]\npath = 'a.so'\n[[library]]\npath = "
           "'b.so'\n[[library]]\npath = '.'\n[[library]]\npath = ''\n");
  EXPECT_EQ(refusal([&] { (void)manifest_from_toml_file(path); }),
            path + ":4: library: path: 'a.so': it is listed twice\n" +  //
                path + ":6: library: path: '" + directory_ + "/b.so': No such file or directory\n" +
                path + ":8: library: path: '" + directory_ + "/.': not a regular file\n" +  //
                path + ":10: library: path: expected a path, got ''");
}

TEST_F(ManifestFile, AModuleIsSeenAloneUnlessItsPathIsGiven) {
  const std::string path =
      file("brig.toml",
           "policy.memory = '8M'\n[[python]]\nmodule = 'weather'\n[[python]]\nmodule = 'a.b'\n"
           "path = '.'\ninterpreter = '/bin/sh'\npolicy = { timeout = 2 }\n");
  const Manifest manifest = manifest_from_toml_file(path);
  const auto modules = manifest.tools.python_modules();
  ASSERT_EQ(modules.size(), 2u);
  EXPECT_EQ(modules[0].python.modules, std::vector<std::string>{"weather"});
  EXPECT_EQ(modules[0].python.home, directory_);
  EXPECT_TRUE(modules[0].python.path.empty());
  EXPECT_FALSE(modules[0].policy);
  EXPECT_EQ(modules[1].python.home, "");
  EXPECT_EQ(modules[1].python.path, std::vector<std::string>{directory_ + "/."});
  EXPECT_EQ(modules[1].python.interpreter, "/bin/sh");
  EXPECT_EQ(modules[1].policy->limits.timeout, 2s);
  EXPECT_EQ(modules[1].policy->limits.memory, 8_MiB);
}

TEST_F(ManifestFile, WhatIsWrongWithAModuleIsToldWithItsLine) {
  const std::string path =
      file("brig.toml",
           "[[python]]\nmodul = 'x'\n[[python]]\nmodule = '../x'\npath = 'no'\n"
           "[[python]]\nmodule = 'x.'\ninterpreter = '.'\n[[python]]\nmodule = 7\n");
  EXPECT_EQ(
      refusal([&] { (void)manifest_from_toml_file(path); }),
      path + ":1: python: has no module\n" +  //
          path + ":2: unknown key 'modul' in [python]; did you mean 'module'?\n" + path +
          ":4: python: module: '../x' is not the name of a module\n" +  //
          path + ":5: python: path: '" + directory_ + "/no': No such file or directory\n" + path +
          ":7: python: module: 'x.' is not the name of a module\n" + path +
          ":8: python: interpreter: '" + directory_ + "/.': not a regular file\n" + path +
          ":10: python: module: expected the name of a module such as \"weather\", got an integer");
}

TEST_F(ManifestFile, ThatIsMissingOrNoFileIsAnError) {
  EXPECT_EQ(refusal([&] { (void)manifest_from_toml_file(directory_ + "/no.toml"); }),
            "opening manifest '" + directory_ + "/no.toml': No such file or directory");
  EXPECT_EQ(refusal([&] { (void)manifest_from_toml_file(directory_); }),
            "reading manifest '" + directory_ + "': not a regular file");
  const std::string fifo = directory_ + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_TRUE(
      contains(refusal([&] { (void)manifest_from_toml_file(fifo); }), "not a regular file"));
}

}  // namespace
}  // namespace brig
