// Starts and awaits the brig program.
#include "e2e_program.h"

namespace e2e {

std::string program() {
  const char* path = getenv("BRIG_PROGRAM");
  return path ? path : "";
}

Brig::Brig(const Options& options) : begin_(Clock::now()) {
  (void)!pipe2(out_, O_CLOEXEC);
  (void)!pipe2(err_, O_CLOEXEC);
  std::vector<const char*> argv{"brig"};
  for (const std::string& each : options.arguments) argv.push_back(each.c_str());
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    for (const std::string& each : options.variables) putenv(const_cast<char*>(each.c_str()));
    if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) _exit(99);
    if (options.session) setsid();
    for (const int number : options.ignored) ::signal(number, SIG_IGN);
    const int null = open("/dev/null", O_RDWR);
    const int sources[3] = {options.in == -2 ? null : options.in,
                            options.out == -2 ? out_[1] : options.out,
                            options.err == -2 ? err_[1] : options.err};
    int high[3];
    for (int i = 0; i < 3; ++i) high[i] = sources[i] < 0 ? -1 : fcntl(sources[i], F_DUPFD, 50);
    for (int i = 0; i < 3; ++i) {
      if (high[i] < 0) {
        close(i);
        continue;
      }
      dup2(high[i], i);
      close(high[i]);
    }
    if (null > 2) close(null);
    execv(program().c_str(), const_cast<char**>(argv.data()));
    _exit(98);
  }
  close(out_[1]);
  close(err_[1]);
  const auto collect = [](int fd, std::string* text) {
    char buffer[65536];
    for (ssize_t size; (size = read(fd, buffer, sizeof buffer)) > 0;)
      text->append(buffer, static_cast<std::size_t>(size));
    close(fd);
  };
  readers_[0] = std::thread(collect, out_[0], &out);
  readers_[1] = std::thread(collect, err_[0], &err);
}

int Brig::wait(std::chrono::seconds limit) {
  if (done_) return code_;
  done_ = true;
  const bool ended = comes_true(
      [&] {
        siginfo_t info{};
        return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
               info.si_pid != 0;
      },
      limit);
  if (!ended) kill(pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  this->seconds = std::chrono::duration<double>(since(begin_)).count();
  for (std::thread& reader : readers_) reader.join();
  code_ = !ended ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return code_;
}

std::ostream& operator<<(std::ostream& stream, const Result& result) {
  return stream << "exit code " << result.code << " after " << result.seconds
                << " s\nstdout: " << result.out << "\nstderr: " << result.err;
}

Result brig_program(std::vector<std::string> arguments, Brig::Options options) {
  options.arguments = std::move(arguments);
  Brig brig(options);
  const int code = brig.wait();
  return {code, brig.out, brig.err, brig.seconds};
}

std::vector<std::string> run_sh(const std::string& line, std::vector<std::string> options) {
  options.insert(options.begin(), "run");
  for (const char* each : {"--", "/bin/sh", "-c"}) options.push_back(each);
  options.push_back(line);
  return options;
}

}  // namespace e2e
