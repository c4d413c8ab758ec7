// Work for the next frame: however often a painter is asked for, it runs once, and no more often
// than its pause allows.
const painters = new Map(); // painter → when it last ran
const wanted = new Set();
let scheduled = false;

// `pause`: the least milliseconds between two runs of this painter.
export function paintSoon(painter, pause = 0) {
  painter.pause = pause;
  wanted.add(painter);
  schedule();
}

function schedule() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(frame);
}

function frame(now) {
  scheduled = false;
  for (const painter of [...wanted]) {
    if (now - (painters.get(painter) ?? -Infinity) < painter.pause) continue;
    wanted.delete(painter);
    painters.set(painter, now);
    painter();
  }
  if (wanted.size > 0) schedule();
}

export function forget(painter) {
  wanted.delete(painter);
  painters.delete(painter);
}
