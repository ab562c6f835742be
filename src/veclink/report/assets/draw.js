"use strict";
/* Canvas in the page's own colours, sharp on every screen, drawn again when its size or the colours change. */
const drawings = [];

function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(); }

function drawing(canvas, height, paint) {
  const draw = () => {
    const width = canvas.clientWidth, tall = height || canvas.clientHeight;
    if (!width || !tall) return;
    const ratio = Math.max(window.devicePixelRatio || 1, window.matchMedia("print").matches ? 3 : 1);
    if (height) canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(tall * ratio);
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, tall);
    pen.font = "12px system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif";
    paint(pen, width, tall);
  };
  let asked = false;
  const soon = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; draw(); });
  };
  new ResizeObserver(soon).observe(canvas);
  drawings.push(draw);
  draw();
  return soon;
}

function drawAll() { drawings.forEach((draw) => draw()); }

/* Axes: ticks are [position from 0 to 1, label]. Returns the frame that the chart lives in. */
function axes(pen, width, height, { x, y, xName, yName, left = 60, bottom = 44 }) {
  const frame = { x: left, y: 10, width: width - left - 24, height: height - bottom - 10 };
  pen.strokeStyle = colour("faint");
  pen.fillStyle = colour("soft");
  pen.lineWidth = 1;
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  for (const [at, label] of y) {
    const place = Math.round(frame.y + frame.height * (1 - at)) + 0.5;
    pen.beginPath(); pen.moveTo(frame.x, place); pen.lineTo(frame.x + frame.width, place); pen.stroke();
    pen.fillText(label, frame.x - 8, place);
  }
  pen.textBaseline = "top";
  for (const [at, label] of x) {
    const place = frame.x + frame.width * at;
    pen.textAlign = "center";
    pen.fillText(label, place, frame.y + frame.height + 7);
  }
  pen.textAlign = "right";
  pen.fillText(xName, frame.x + frame.width, frame.y + frame.height + 25);
  pen.save();
  pen.textAlign = "right"; pen.textBaseline = "top";
  pen.translate(0, frame.y); pen.rotate(-Math.PI / 2); pen.fillText(yName, 0, 0);
  pen.restore();
  pen.strokeStyle = colour("below");
  pen.beginPath(); pen.moveTo(frame.x, frame.y + frame.height + 0.5); pen.lineTo(frame.x + frame.width, frame.y + frame.height + 0.5); pen.stroke();
  return frame;
}

/* Round numbers up to `most`, about `count` of them. */
function ticks(most, count = 4) {
  const rough = Math.max(most, 1) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].map((f) => f * power).find((f) => f >= rough));
  const found = [];
  for (let v = 0; v <= most; v += step) found.push(v);
  return found;
}
const short = (n) => (n >= 1e6 ? `${n / 1e6}M` : n >= 1e4 ? `${n / 1e3}k` : n.toLocaleString("en"));
