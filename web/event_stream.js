// Keeps /events open: again and again, with a growing pause, telling how it stands.
import { Problem, watchEvents } from './api.js';

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 15000;
const SILENCE = 40000; // the server speaks every 15 s; after this long the connection is dead

export class EventStream {
  // onState(state, {seconds, error}): connecting, live, waiting, unauthorized.
  constructor({ onState, onOpen, onEvent }) {
    this.report = onState;
    this.onOpen = onOpen;
    this.onEvent = onEvent;
    this.pause = FIRST_PAUSE;
    this.wake = null;
  }

  // Does not return.
  async run() {
    for (;;) {
      this.report('connecting', {});
      const error = await this.#once();
      if (error instanceof Problem && error.status === 401) {
        this.report('unauthorized', {});
        await this.#sleep(null);
        continue;
      }
      // Half of the pause is chance: a hundred consoles must not come back at the same moment.
      const milliseconds = this.pause * (0.5 + Math.random() / 2);
      this.pause = Math.min(this.pause * 2, LONGEST_PAUSE);
      await this.#countDown(milliseconds, error);
    }
  }

  // Tries at once: there is a token now, or the user asks.
  retry() {
    this.pause = FIRST_PAUSE;
    this.wake?.();
  }

  async #once() {
    const abort = new AbortController();
    let heard = Date.now();
    const watchdog = setInterval(() => {
      if (Date.now() - heard > SILENCE) abort.abort();
    }, 5000);
    try {
      await watchEvents({
        signal: abort.signal,
        onOpen: () => {
          this.pause = FIRST_PAUSE;
          this.report('live', {});
          this.onOpen();
        },
        onEvent: (kind, data) => {
          heard = Date.now();
          this.onEvent(kind, data);
        },
      });
      return null;
    } catch (error) {
      return error;
    } finally {
      clearInterval(watchdog);
    }
  }

  async #countDown(milliseconds, error) {
    const until = Date.now() + milliseconds;
    let woken = false;
    while (!woken && Date.now() < until) {
      this.report('waiting', { seconds: Math.ceil((until - Date.now()) / 1000), error });
      woken = await this.#sleep(Math.min(1000, until - Date.now()));
    }
  }

  // True if it was woken. Without a time: until then.
  #sleep(milliseconds) {
    return new Promise((resolve) => {
      const timer = milliseconds === null ? 0 : setTimeout(() => resolve(false), milliseconds);
      this.wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}
