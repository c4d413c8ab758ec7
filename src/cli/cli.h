// What the sub-commands share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace brig {
struct Manifest;
class Toolbox;
}  // namespace brig

namespace brig::cli {

// Exit codes as timeout(1) and env(1) have them.
inline constexpr int kTimedOut = 124, kOwnFailure = 125, kCannotRun = 126, kNotFound = 127,
                     kSignalBase = 128;

// Each adds its sub-command, which sets `exit_code` when it was chosen and has run.
// `command`: the words of the command itself, which main() takes off before the options are parsed.
CLI::App& add_run(CLI::App& app, const std::vector<std::string>& command, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_presets(CLI::App& app, int& exit_code);
void add_tools(CLI::App& app, int& exit_code);
void add_call(CLI::App& app, int& exit_code);
// --- start.cc --- Throws Error(permission) if the program was started with rights that its caller
// does not have: set-user-ID and the like.
void refuse_raised_rights();
// Makes every option of every sub-command refuse an empty value, which must not pass for a missing
// option. Call it when all options are added. Throws Error(config) for "--name=".
void refuse_empty_values(CLI::App& app, int argc, char** argv);
// --- words.cc ---
// Sets how help is written. Call it before sub-commands are added.
void set_words(CLI::App& app);
// A message if `word` is not a sub-command; "" if it is one, or an option. Null: no word was given.
std::string wrong_subcommand(const CLI::App& app, const char* word);
// A message for a command line that can't be parsed: it names an unknown option, or else says
// `otherwise`.
std::string wrong_words(const CLI::App& app, int argc, char** argv, const std::string& otherwise);
// --- serve.cc --- Adds the names of the server's sub-commands, so that help lists them.
// brig-server, another program, has their options.
void add_server(CLI::App& app);
bool is_of_server(std::string_view word);
// Replaces this process by brig-server. Throws Error if it is missing.
void run_server(char** argv);

// --- tools.cc ---
// The manifest at `path`, or, if `path` is empty, the one of the current directory.
Manifest manifest_of(const std::string& path);
// The libraries and Python modules of a manifest, without its commands; and whether there are any.
bool has_loaded(const Manifest& manifest);
Toolbox loaded_of(const Manifest& manifest);

// --- terminal.cc ---
enum class Style { plain, good, bad, dim, bold };
// `text` in colour if `fd` is a terminal and NO_COLOR is not set.
std::string styled(std::string_view text, Style style, int fd);
// Writes to standard output. finished() reports a failure.
void put(std::string_view text);
// Flushes the output and returns the exit code: `code`; or, if some output was lost and `code` is
// 0, kOwnFailure, with a message. If the reader has closed the pipe, there is no message, and the
// code is that of SIGPIPE.
int finished(int code);
// "brig: message" on stderr, printable: it can hold a name that a tool or a file chose.
void complain(std::string_view message);
// The same for several lines; all but the first are indented, so that none looks like one of brig's
// own.
void complain_lines(std::string_view message);

}  // namespace brig::cli
