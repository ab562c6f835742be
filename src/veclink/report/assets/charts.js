"use strict";
/* The charts around the threshold, and the growth. Each takes the threshold as it is and says where it was dragged to. */
function histogram(canvas, data, estimates, threshold) {
  const bins = 50, counts = new Float64Array(bins), kept = new Float64Array(bins);
  for (let i = 0; i < estimates.count; i++) counts[Math.min(bins - 1, Math.floor(estimates.probability(i) * bins))]++;
  const decoys = data.facts.decoys ? data.facts.decoys.probability : null;
  const high = (n) => Math.log10(1 + n);
  const top = high(Math.max(...counts, ...(decoys || [0]), 3)) * 1.04;
  let frame = null;
  const again = drawing(canvas, 280, (pen, width, height) => {
    const y = [0, 1, 10, 100, 1e3, 1e4, 1e5, 1e6].filter((n) => high(n) <= top).map((n) => [high(n) / top, short(n)]);
    const x = [0, 0.25, 0.5, 0.75, 1].map((v) => [v, String(v)]);
    frame = axes(pen, width, height, { x, y, xName: "probability", yName: "pairs (log scale)" });
    kept.fill(0);
    for (let i = 0; i < threshold.k; i++) kept[Math.min(bins - 1, Math.floor(estimates.probability(i) * bins))]++;
    const step = frame.width / bins, floor = frame.y + frame.height;
    for (let i = 0; i < bins; i++) {
      const whole = (high(counts[i]) / top) * frame.height, part = counts[i] ? (kept[i] / counts[i]) * whole : 0;
      pen.fillStyle = colour("below"); pen.fillRect(frame.x + i * step + 1, floor - whole, step - 2, whole - part);
      pen.fillStyle = colour("accent"); pen.fillRect(frame.x + i * step + 1, floor - part, step - 2, part);
    }
    if (decoys) {
      pen.strokeStyle = colour("decoy"); pen.lineWidth = 2; pen.lineJoin = "round"; pen.beginPath();
      const wide = frame.width / decoys.length;
      decoys.forEach((n, i) => {
        const at = floor - (high(n) / top) * frame.height;
        pen.lineTo(frame.x + i * wide, at); pen.lineTo(frame.x + (i + 1) * wide, at);
      });
      pen.stroke();
    }
    handle(pen, frame.x + frame.width * estimates.at(threshold.k).least, frame);
  });
  dragging(canvas, () => frame, (share) => threshold.move(Math.max(1, estimates.above(share))));
  threshold.follow(again);
}

function curve(canvas, data, estimates, threshold) {
  const points = [], n = estimates.count, steps = Math.min(n, 400);
  for (let i = 0; i <= steps; i++) points.push(estimates.at(Math.max(1, Math.round((n * i) / steps))));
  const lowest = Math.min(...points.map((at) => at.precision[0]));
  const floor = Math.min(0.9, Math.max(0, Math.floor(lowest * 10) / 10));
  const y = (share) => (Math.max(share, floor) - floor) / (1 - floor);
  let frame = null;
  const again = drawing(canvas, 280, (pen, width, height) => {
    const gap = floor >= 0.9 ? 0.02 : floor >= 0.7 ? 0.05 : floor >= 0.4 ? 0.1 : 0.2, marks = [];
    for (let v = 1; v >= floor - 1e-9; v -= gap) marks.push(v);
    frame = axes(pen, width, height, {
      x: [0, 0.25, 0.5, 0.75, 1].map((v) => [v, percent(v, 0)]), y: marks.map((v) => [y(v), percent(v, 0)]),
      xName: "estimated recall", yName: "estimated precision",
    });
    const px = (at) => frame.x + frame.width * at.recall[0], py = (share) => frame.y + frame.height * (1 - y(share));
    pen.fillStyle = colour("accent"); pen.globalAlpha = 0.16; pen.beginPath();
    points.forEach((at) => pen.lineTo(px(at), py(at.precision[2])));
    [...points].reverse().forEach((at) => pen.lineTo(px(at), py(at.precision[1])));
    pen.fill(); pen.globalAlpha = 1;
    pen.strokeStyle = colour("accent"); pen.lineWidth = 2.5; pen.lineJoin = "round"; pen.beginPath();
    points.forEach((at) => pen.lineTo(px(at), py(at.precision[0])));
    pen.stroke();
    const now = estimates.at(threshold.k);
    handle(pen, px(now), frame, false);
    pen.fillStyle = colour("card"); pen.strokeStyle = colour("ink"); pen.lineWidth = 2.5;
    pen.beginPath(); pen.arc(px(now), py(now.precision[0]), 6, 0, 7); pen.fill(); pen.stroke();
  });
  const right = points.map((at) => at.recall[0]);
  dragging(canvas, () => frame, (share) => {
    let i = right.findIndex((recall) => recall >= share);
    if (i < 0) i = right.length - 1;
    threshold.move(points[i].k);
  });
  threshold.follow(again);
}

function handle(pen, x, frame, grip = true) {
  pen.strokeStyle = colour("ink"); pen.lineWidth = 2;
  pen.beginPath(); pen.moveTo(x, frame.y); pen.lineTo(x, frame.y + frame.height); pen.stroke();
  if (!grip) return;
  pen.fillStyle = colour("ink"); pen.beginPath(); pen.roundRect(x - 5, frame.y - 2, 10, 18, 4); pen.fill();
  pen.strokeStyle = colour("card"); pen.lineWidth = 1;
  for (const gap of [-1.5, 1.5]) { pen.beginPath(); pen.moveTo(x + gap, frame.y + 3); pen.lineTo(x + gap, frame.y + 11); pen.stroke(); }
}

function dragging(canvas, frame, moved) {
  const tell = (event) => {
    const box = frame(), place = event.clientX - canvas.getBoundingClientRect().left;
    if (box) moved(Math.min(1, Math.max(0, (place - box.x) / box.width)));
  };
  canvas.classList.add("drag");
  canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); tell(event); });
  canvas.addEventListener("pointermove", (event) => { if (canvas.hasPointerCapture(event.pointerId)) tell(event); });
}

function growth(canvas, rounds) {
  const most = Math.max(...rounds.map((each) => Math.max(each[0], each[1])), 4);
  drawing(canvas, 240, (pen, width, height) => {
    const x = rounds.map((_, i) => [(i + 0.5) / rounds.length, String(i + 1)]);
    const thin = Math.ceil(rounds.length / 20);
    const frame = axes(pen, width, height, {
      x: x.filter((_, i) => i % thin === 0), y: ticks(most).map((v) => [v / (most * 1.04), short(v)]), xName: "round", yName: "pairs",
    });
    const step = frame.width / rounds.length, floor = frame.y + frame.height, wide = Math.min(step * 0.62, 56);
    const tall = (n) => (n / (most * 1.04)) * frame.height;
    rounds.forEach(([pool, agreed], i) => {
      const middle = frame.x + (i + 0.5) * step;
      pen.fillStyle = colour("accent"); pen.fillRect(middle - wide / 2, floor - tall(pool), wide, tall(pool));
      pen.strokeStyle = colour("ink"); pen.lineWidth = 2; pen.beginPath();
      pen.moveTo(middle - wide / 2 - 3, floor - tall(agreed)); pen.lineTo(middle + wide / 2 + 3, floor - tall(agreed)); pen.stroke();
    });
  });
}
