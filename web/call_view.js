// One call in full: beside the list, and below the form that tries a tool.
import { announce, el, setData, setHidden, setText } from './dom.js';
import { cancelCall } from './api.js';
import { connectionsTable } from './connections_view.js';
import { isLimit, isLive, stateOf } from './outcomes.js';
import { OutputView } from './output_view.js';
import { resultNodes } from './result_view.js';
import { bytes, count, milliseconds, oneLine, seconds, timeOf, visible } from './text.js';

const STEPS = [
  ['queue_ms', 'queue'],
  ['dispatch_ms', 'dispatch'],
  ['run_ms', 'run'],
  ['teardown_ms', 'teardown'],
];
const MOST_VIOLATIONS = 50;
// What else a record says; the operator decides by it.
const HIT_PARTS = [
  ['what', ({ target, what }) => target && what],
  ['rule', ({ rule }) => rule && `Rule: ${rule}`],
  ['grant', ({ grant }) => grant && `Grant: ${grant}`],
  ['retry', ({ retry }) => RETRY[retry]],
  ['certain', ({ certain }) => certain === false && "Not certain: concluded from the tool's own words"],
];
const RETRY = {
  never: 'No policy allows it',
  after_grant: 'Works once it is granted',
  may_help: 'May work later: what was used up comes back',
};
const MOST_ARGUMENTS = 16384; // characters

export class CallView {
  // `onClose`: there is a button for it. `untitled`: what stands above says which tool it is.
  constructor(call, { onClose, untitled = false } = {}) {
    this.call = call;
    this.version = -1;
    this.mark = el('span', { class: 'mark', 'aria-hidden': 'true' });
    this.outcome = el('span', { class: 'outcome-word' });
    this.took = el('span', { class: 'took' });
    this.cancel = el('button', { type: 'button', class: 'danger', onclick: () => this.#cancel() }, 'Cancel');
    const close =
      onClose &&
      el(
        'button',
        {
          type: 'button',
          class: 'quiet close',
          onclick: onClose,
          'aria-label': 'Close',
          'aria-keyshortcuts': 'Escape',
        },
        'Close',
      );
    this.title = el('h2', { tabindex: '-1' }, oneLine(call.tool, 120) || '(no name)');
    this.message = el('p', { class: 'message' });
    this.progressBar = el('progress', { max: '1' });
    this.progressText = el('span', {});
    this.progress = el('p', { class: 'progress', hidden: true }, this.progressBar, this.progressText);
    this.hits = el('ul', { class: 'hits', 'aria-label': 'Violations and limits hit' });
    this.arguments = el('section', { class: 'arguments', hidden: true });
    this.result = el('section', { class: 'result', hidden: true });
    this.outputView = new OutputView();
    this.facts = el('dl', { class: 'facts' });
    this.steps = el('div', { class: 'steps', hidden: true });
    this.rest = el('div', { class: 'rest' });
    this.element = el(
      'article',
      { class: 'call' },
      el(
        'header',
        {},
        el(
          'div',
          {},
          untitled ? null : this.title,
          el('p', { class: 'state' }, this.mark, this.outcome, this.took),
        ),
        this.cancel,
        close,
      ),
      this.message,
      this.progress,
      this.hits,
      this.arguments,
      this.result,
      this.outputView.element,
      this.steps,
      this.facts,
      this.rest,
    );
  }

  // Cheap if nothing has changed but the time.
  update() {
    const { call } = this;
    setText(
      this.took,
      isLive(call)
        ? seconds(Date.now() - call.created)
        : call.durationMs === null
          ? ''
          : milliseconds(call.durationMs),
    );
    if (this.version === call.version) return;
    this.version = call.version;
    const { label, kind } = stateOf(call);
    setData(this.element, 'kind', kind);
    setText(this.outcome, label);
    const message = isLive(call) || call.outcome === 'ok' ? '' : visible(call.message.slice(0, 4000));
    setText(this.message, message);
    setHidden(this.message, message === '');
    setHidden(this.cancel, !isLive(call));
    this.#updateProgress();
    this.outputView.update(call);
    this.#factsOnce(isLive(call) ? 'live' : 'done');
  }

  #updateProgress() {
    const { progress } = this.call;
    setHidden(this.progress, !progress || !isLive(this.call));
    if (!progress) return;
    if (Number.isFinite(progress.fraction))
      this.progressBar.value = Math.max(0, Math.min(1, progress.fraction));
    else this.progressBar.removeAttribute('value');
    setText(this.progressText, oneLine(progress.text));
  }

  // What changes only when the call ends.
  #factsOnce(state) {
    if (this.told === state) return;
    this.told = state;
    const { call } = this;
    const usage = call.usage ?? {};
    const memory = usage.memory_peak_bytes;
    const report = call.result?.report ?? {};
    const facts = [
      ['Call', visible(call.id)],
      ['Caller', visible(call.caller)],
      ['Started', timeOf(call.created)],
      ['Exit code', Number.isFinite(report.exit_code) && String(report.exit_code)],
      ['Signal', report.signal && visible(report.signal_name ?? report.signal)],
      ['CPU', Number.isFinite(usage.cpu_ms) && milliseconds(usage.cpu_ms)],
      ['Memory, at most', Number.isFinite(memory) && memory > 0 && bytes(memory)],
      ['Processes, at most', Number.isFinite(usage.processes_peak) && count(usage.processes_peak)],
    ].filter(([, value]) => value);
    this.facts.replaceChildren(
      ...facts.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]),
    );
    const given = call.arguments && visible(JSON.stringify(call.arguments, null, 2).slice(0, MOST_ARGUMENTS));
    setHidden(this.arguments, !given);
    if (given)
      this.arguments.replaceChildren(
        el('h3', {}, 'Arguments'),
        el('pre', { class: 'answer', tabindex: '0', 'aria-label': 'Arguments' }, given),
      );
    this.#fillHits();
    this.#fillSteps();
    // Of a call that failed there may be one, too: what it had displayed, and the files that it
    // left.
    const answer =
      call.result && (call.result.ok || call.result.output !== null)
        ? resultNodes(call.result.output, call.output)
        : [];
    setHidden(this.result, answer.length === 0);
    this.result.replaceChildren(el('h3', {}, 'Result'), ...answer);
    this.rest.replaceChildren(...this.#restNodes());
  }

  #fillHits() {
    const { call } = this;
    const hits = call.violations
      .slice(0, MOST_VIOLATIONS)
      .map((violation) =>
        el(
          'li',
          { 'data-kind': 'denied' },
          el('span', { class: 'layer' }, oneLine(violation?.code ?? '', 40)),
          ' ',
          el('span', {}, oneLine(violation?.target || (violation?.what ?? ''), 400)),
          violation?.count > 1 ? el('span', { class: 'times' }, ` ×${count(violation.count)}`) : null,
          ...HIT_PARTS.map(([name, told]) => {
            const text = told(violation ?? {});
            return text ? el('span', { class: `part ${name}` }, oneLine(text, 400)) : null;
          }),
        ),
      );
    if (isLimit(call))
      hits.unshift(
        el(
          'li',
          { 'data-kind': 'limit' },
          el('span', { class: 'layer' }, 'limit'),
          ' ',
          stateOf(call).label.replace(' limit', ''),
        ),
      );
    if (call.violations.length > MOST_VIOLATIONS)
      hits.push(el('li', {}, `and ${count(call.violations.length - MOST_VIOLATIONS)} more`));
    this.hits.replaceChildren(...hits);
    setHidden(this.hits, hits.length === 0);
  }

  #fillSteps() {
    const steps = this.call.steps ?? {};
    const known = STEPS.filter(([key]) => Number.isFinite(steps[key]));
    const total = known.reduce((sum, [key]) => sum + steps[key], 0);
    setHidden(this.steps, total <= 0);
    if (total <= 0) return;
    const bar = el('div', { class: 'step-bar', 'aria-hidden': 'true' });
    for (const [key, name] of known) {
      const part = el('span', { class: `step-${name}` });
      part.style.setProperty('--share', String(steps[key] / total));
      bar.append(part);
    }
    const legend = el(
      'dl',
      {},
      ...known.map(([key, name]) =>
        el('div', { class: `step-${name}` }, el('dt', {}, name), el('dd', {}, milliseconds(steps[key]))),
      ),
    );
    this.steps.replaceChildren(bar, legend);
  }

  #restNodes() {
    const { result, connections, connectionsTotal } = this.call;
    const nodes = [];
    const reached = connectionsTable(connections, connectionsTotal);
    if (reached) nodes.push(reached);
    if (typeof result?.traceback === 'string' && result.traceback !== '') {
      nodes.push(
        el(
          'details',
          {},
          el('summary', {}, 'Traceback'),
          el('pre', { class: 'answer', tabindex: '0' }, visible(result.traceback.slice(0, 65536))),
        ),
      );
    }
    const enforced = result?.report?.enforced;
    if (Array.isArray(enforced) && enforced.length > 0) {
      nodes.push(
        el(
          'details',
          {},
          el('summary', {}, `Enforced: ${count(enforced.length)} layers`),
          el(
            'ul',
            { class: 'layers' },
            ...enforced.slice(0, 64).map((layer) => el('li', {}, oneLine(layer, 60))),
          ),
        ),
      );
    }
    return nodes;
  }

  async #cancel() {
    this.cancel.disabled = true;
    try {
      await cancelCall(this.call.id, this.call.caller);
      announce('Cancelling');
    } catch (error) {
      this.cancel.disabled = false;
      setText(
        this.message,
        error.status === 404
          ? 'The call has already ended.'
          : `Could not cancel the call: ${visible(error.message)}`,
      );
      setHidden(this.message, false);
    }
  }
}
