// Calls that happen by themselves, for looking at the console: mostly quick, some slow, some that end badly.
const TOOLS = ['read_file', 'search_code', 'run_python', 'word_count', 'calculate', 'fetch_page'];
const CALLERS = ['agent-7', 'agent-12', 'mcp:claude', 'http', 'nightly'];
const ENDS = [
  ['tool_error', "KeyError: 'price'"],
  ['exit', 'the command exited with code 2'],
  ['timeout', 'its time of 10 s was over; it was ended'],
  ['memory_limit', 'it needed more than its 64 MiB of memory'],
  ['cancelled', 'the call was cancelled'],
  ['output_limit', 'it wrote 12 MiB, more than the 1 MiB that is kept'],
  ['denied', 'connect() is not allowed: this tool has no network'],
];
const any = (list) => list[Math.floor(Math.random() * list.length)];

export function demo(server) {
  let running = 0,
    waiting = 0,
    number = 0;
  const one = () => {
    const common = {
      call_id: `call_${(++number * 7919 + 4096).toString(36)}`,
      tool: any(TOOLS),
      caller: any(CALLERS),
    };
    const bad = Math.random() < 0.07 ? any(ENDS) : null;
    const took =
      Math.exp(Math.random() * Math.random() * 6) * 1.8 + (Math.random() < 0.03 ? 4000 * Math.random() : 0);
    ++server.total;
    server.emit('queued', {
      ...common,
      arguments: { path: 'src/serve/http.cc', query: 'Accept', options: { case: false, most: 20 }, number },
    });
    const start = () => {
      ++running;
      server.emit('started', common);
      server.emit('output', {
        ...common,
        stream: 'stdout',
        text: any([
          'reading src/serve/http.cc\n',
          '42\n',
          'matched 17 of 1,204 files\n',
          'ok\n',
          '{"rows": 18, "took": 0.004}\n',
        ]),
      });
      if (took > 800) server.emit('progress', { ...common, fraction: 0.4, text: 'page 4 of 10' });
      setTimeout(() => {
        --running;
        const violations =
          bad?.[0] === 'denied'
            ? [
                { code: 'network.refused', what: 'socket(AF_INET)', count: 2 },
                { code: 'syscall.refused', what: 'ptrace', count: 1 },
              ]
            : [];
        server.emit('finished', {
          ...common,
          outcome: bad?.[0] ?? 'ok',
          message: bad?.[1] ?? 'the tool succeeded',
          duration_ms: took,
          violations,
          stdout_bytes: 27,
          stderr_bytes: 0,
          steps: { queue_ms: took * 0.06, dispatch_ms: 0.2, run_ms: took * 0.9, teardown_ms: took * 0.04 },
          usage: { cpu_ms: took * 0.5, memory_peak_bytes: 9e6 * (0.5 + Math.random()), processes_peak: 2 },
        });
      }, took);
    };
    if (Math.random() < 0.2) {
      ++waiting;
      setTimeout(
        () => {
          --waiting;
          start();
        },
        60 + Math.random() * 300,
      );
    } else {
      start();
    }
  };
  const next = () => {
    const wave = 1 + Math.sin(Date.now() / 9000) * 0.7;
    for (let i = 0; i < Math.random() * 3 * wave; ++i) one();
    server.extra = {
      running: Math.min(running, 16),
      waiting,
      concurrency: 16,
      ready: Math.max(0, 16 - running),
      uptime_s: 93784 + (Date.now() - server.began) / 1000,
    };
    setTimeout(next, 40 + Math.random() * 60);
  };
  next();
}
