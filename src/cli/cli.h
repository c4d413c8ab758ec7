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

// Each adds its sub-command; the returned code is set when it was chosen and has run.
// `command`: the words of the command itself, taken off before the options are parsed.
CLI::App& add_run(CLI::App& app, const std::vector<std::string>& command, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_presets(CLI::App& app, int& exit_code);
void add_tools(CLI::App& app, int& exit_code);
void add_call(CLI::App& app, int& exit_code);
// --- start.cc ---
// Throws Error(permission) if the program was started with rights that its caller has not: set-user-ID and the like.
void refuse_raised_rights();
// Gives every option of every sub-command a check: an empty value must not pass for an option that is not there.
// Call it when all are added. Throws Error(config) for "--name=".
void refuse_empty_values(CLI::App& app, int argc, char** argv);
// --- words.cc ---
// How help is written. Before sub-commands are added.
void set_words(CLI::App& app);
// Why the first word is no sub-command, or "": it is one, or an option. Null: there is none.
std::string wrong_subcommand(const CLI::App& app, const char* word);
// What is wrong with a command line that can't be parsed: an option that there is not, or else `otherwise`.
std::string wrong_words(const CLI::App& app, int argc, char** argv, const std::string& otherwise);
// --- serve.cc ---
// So that help lists them. Their options are brig-server's, a program of its own.
void add_server(CLI::App& app);
bool is_of_server(std::string_view word);
// Becomes that program. Throws Error if it is not there.
void run_server(char** argv);

// --- tools.cc ---
// The manifest that was named, or, if `path` is empty, the one of the current directory.
Manifest manifest_of(const std::string& path);
// The libraries and Python modules of a manifest, without its commands; and whether there are any.
bool has_loaded(const Manifest& manifest);
Toolbox loaded_of(const Manifest& manifest);

// --- terminal.cc ---
enum class Style { plain, good, bad, dim, bold };
// `text` in colour if `fd` is a terminal and NO_COLOR is not set.
std::string styled(std::string_view text, Style style, int fd);
// Writes to standard output. What goes wrong is told by finished().
void put(std::string_view text);
// The exit code, once all is written: `code`; or, if some of it was not and that would pass for success,
// kOwnFailure, with a sentence. Who closed the pipe knows: then it is that of SIGPIPE.
int finished(int code);
// "brig: message" on stderr, printable: it can hold a name that a tool or a file chose.
void complain(std::string_view message);
// The same for several lines; all but the first are indented, so that none looks like one of brig's own.
void complain_lines(std::string_view message);

}  // namespace brig::cli
