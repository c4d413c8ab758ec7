// What this machine enforces, as `brig doctor` says, and the server's own figures.
import { getJson } from './api.js';
import { byId, el } from './dom.js';
import { age, count, oneLine, visible } from './text.js';

const FLOORS = {
  jail: 'namespaces, own root, Landlock, seccomp, cgroups',
  landlock: 'Landlock, seccomp and rlimits, without namespaces',
  process: 'a process of its own',
};

export class MachinePage {
  constructor() {
    this.capabilities = null;
    this.status = null;
  }

  // What the machine can do does not change: the page asks once, when somebody opens this view.
  show() {
    if (this.capabilities) this.setStatus(this.status);
    else this.load();
  }

  async load() {
    try {
      this.capabilities = await getJson('/v1/capabilities');
      this.#paint();
    } catch (error) {
      if (!this.capabilities)
        byId('machine-body').replaceChildren(
          el(
            'p',
            { class: 'empty' },
            `Could not read what this machine enforces: ${visible(error.message)}`,
          ),
        );
    }
  }

  // The server's figures change every second; they are painted only while they are looked at.
  setStatus(status) {
    this.status = status;
    if (this.server && !byId('view-machine').hidden) this.server.replaceChildren(...this.#serverFacts());
  }

  #paint() {
    const { floors = {}, isolation_level: level } = this.capabilities;
    const layers = (this.capabilities.layers ?? []).filter(
      (layer) => !String(layer.name).startsWith('floor_'),
    ); // the floors have their own place
    const missing = layers.filter((layer) => !layer.present);
    this.server = el('dl', { class: 'facts' }, ...this.#serverFacts());
    byId('machine-body').replaceChildren(
      el(
        'section',
        { class: 'machine-head' },
        el('p', { class: 'verdict' }, 'Isolation: ', el('strong', {}, oneLine(level ?? 'unknown', 40))),
        el(
          'p',
          { class: 'note' },
          missing.length === 0
            ? `All ${count(layers.length)} layers are available.`
            : `${count(layers.length - missing.length)} of ${count(layers.length)} layers are available.`,
        ),
      ),
      el(
        'section',
        {},
        el('h2', {}, 'Floors'),
        el(
          'ul',
          { class: 'floors' },
          ...Object.entries(floors)
            .slice(0, 16)
            .map(([name, present]) =>
              el(
                'li',
                { 'data-kind': present ? 'ok' : 'fail' },
                el('span', { class: 'mark', 'aria-hidden': 'true' }),
                el('strong', {}, oneLine(name, 40)),
                present ? ' available' : ' not available',
                FLOORS[name] ? el('span', { class: 'note' }, FLOORS[name]) : null,
              ),
            ),
        ),
      ),
      el('section', {}, el('h2', {}, 'Layers'), this.#table(layers)),
      el('section', {}, el('h2', {}, 'Server'), this.server),
    );
  }

  #table(layers) {
    const rows = layers
      .slice(0, 100)
      .map((layer) =>
        el(
          'tr',
          { 'data-kind': layer.present ? 'ok' : layer.required ? 'fail' : 'limit' },
          el(
            'td',
            { class: 'layer-name' },
            el('span', { class: 'mark', 'aria-hidden': 'true' }),
            oneLine(layer.name ?? '', 60).replaceAll('_', ' '),
          ),
          el(
            'td',
            {},
            layer.present ? 'enforced' : layer.required ? 'missing; the jail needs it' : 'missing',
          ),
          el(
            'td',
            { class: 'layer-detail' },
            visible(layer.detail ?? ''),
            layer.fix ? el('code', { class: 'fix' }, visible(layer.fix)) : null,
          ),
        ),
      );
    return el(
      'table',
      { class: 'layer-table' },
      el(
        'thead',
        {},
        el(
          'tr',
          {},
          el('th', { scope: 'col' }, 'Layer'),
          el('th', { scope: 'col' }, 'State'),
          el('th', { scope: 'col' }, 'Detail'),
        ),
      ),
      el('tbody', {}, ...rows),
    );
  }

  #serverFacts() {
    const status = this.status ?? {};
    const facts = [
      ['Version', status.version],
      ['Up', Number.isFinite(status.uptime_s) && age(status.uptime_s * 1000)],
      ['State', status.draining === true ? 'draining' : status.draining === false && 'serving'],
      ['Tools', count(status.tools)],
      ['Built-in tools', yesNo(status.builtins)],
      ['Token', status.auth === true ? 'required' : status.auth === false && 'not required'],
      ['Calls at once', count(status.concurrency)],
      ['Queue', count(status.queue)],
      ['Calls so far', count(status.calls_total)],
      ['Connections', count(status.connections)],
    ].filter(([, value]) => value && value !== '–');
    return facts.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, oneLine(value, 80))]);
  }
}

const yesNo = (value) =>
  value === true ? 'yes' : value === false ? 'no' : Array.isArray(value) ? value.join(', ') : value;
