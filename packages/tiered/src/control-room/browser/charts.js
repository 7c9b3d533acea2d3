/** The charts of the control room, by uPlot, which is a script of its own. Names are texts of its legend. */

const MIB = 2 ** 20;
/** Told apart in light and dark; each further job begins anew. */
const COLORS = ['#2b78bf', '#d9822b', '#4a9c8c', '#9a86c8', '#c2504f', '#7a9a2f', '#b0679d', '#829ab1'];
const HEIGHT = 200;
/** As the style has them: between charts, and the padding and edges of one. */
const GAP = 16;
const AROUND = 18;
/** Two charts of jobs stand side by side where each has so much. */
const LEAST_HALF = 320;

/** Charts by the element that holds them, each with what its series are. */
const charts = new WeakMap();

const inMiB = (bytes) => (bytes === null || bytes === undefined ? null : bytes / MIB);

/** Draws a source, and each of its jobs, as they were in all frames. */
export function drawSource(holder, { source, jobs }, frames) {
  const last = frames.at(-1).at;
  const seconds = frames.map(({ at }) => (at - last) / 1000);
  const ofSource = frames.map(({ sources }) => sources.find((one) => one.source === source));
  const usedBy = (name) =>
    ofSource.map((one) => inMiB(one?.jobs.find(({ job }) => job === name)?.used.bytes));
  const names = jobs.map(({ job }) => job);
  const known = charts.get(holder) ?? new Map();
  charts.set(holder, known);
  for (const [name, { root, plot }] of known) {
    if (name === '' || names.includes(name)) continue;
    plot.destroy();
    root.remove();
    known.delete(name);
  }
  show(holder, known, {
    name: '',
    title: 'What jobs use of it',
    isHalf: false,
    series: [
      rate('gives', 'currentColor', [4, 4]),
      ...names.map((job, at) => rate(job, COLORS[at % COLORS.length])),
    ],
    data: [seconds, ofSource.map((one) => inMiB(one?.budget.bytes)), ...names.map(usedBy)],
  });
  for (const [at, name] of names.entries()) {
    const ofJob = ofSource.map((one) => one?.jobs.find(({ job }) => job === name));
    show(holder, known, {
      name,
      title: name,
      isHalf: true,
      series: [rate('gets', 'currentColor', [4, 4]), rate('uses', COLORS[at % COLORS.length]), stall()],
      data: [
        seconds,
        ofJob.map((one) => inMiB(one?.share.bytes)),
        ofJob.map((one) => inMiB(one?.used.bytes)),
        ofJob.map((one) => (one?.stall === null || one === undefined ? null : 100 * one.stall)),
      ],
    });
  }
}

/** Ends the charts of a source. */
export function forget(holder) {
  for (const { plot } of charts.get(holder)?.values() ?? []) plot.destroy();
  charts.delete(holder);
}

function rate(label, stroke, dash) {
  const value = (_, number) => (number === null ? '-' : `${number.toFixed(1)} MiB/s`);
  return { label, stroke, dash, width: 2, scale: 'rate', value, points: { show: false } };
}

function stall() {
  const value = (_, number) => (number === null ? '-' : `${Math.round(number)} %`);
  return { label: 'stall', stroke: '#c2504f', width: 1, scale: 'percent', value, points: { show: false } };
}

/** Makes a chart, or gives it new data. One whose series are others is made anew. */
function show(holder, known, { name, title, isHalf, series, data }) {
  const width = widthIn(holder, isHalf);
  const labels = JSON.stringify(series.map(({ label, stroke }) => [label, stroke]));
  const old = known.get(name);
  if (old?.labels === labels) {
    if (old.plot.width !== width) old.plot.setSize({ width, height: HEIGHT });
    old.plot.setData(data);
    return;
  }
  old?.plot.destroy();
  const root = old?.root ?? newRoot(holder, title);
  known.set(name, { root, labels, plot: new uPlot(optionsOf(root, width, series), data, root) });
}

function newRoot(holder, title) {
  const root = document.createElement('div');
  root.className = 'chart';
  const headline = document.createElement('h4');
  headline.textContent = title;
  root.append(headline);
  holder.append(root);
  return root;
}

function optionsOf(root, width, series) {
  const ink = getComputedStyle(root).color;
  const axis = { stroke: ink, grid: { stroke: '#8884', width: 1 }, ticks: { stroke: '#8884', width: 1 } };
  const inInk = series.map((one) => (one.stroke === 'currentColor' ? { ...one, stroke: ink } : one));
  const hasStall = series.some(({ scale }) => scale === 'percent');
  return {
    width,
    height: HEIGHT,
    scales: {
      x: { time: false },
      rate: { range: (_, __, max) => [0, Math.max(1, (max ?? 0) * 1.1)] },
      percent: { range: [0, 100] },
    },
    series: [
      { label: 'seconds', value: (_, number) => (number === null ? '-' : number.toFixed(0)) },
      ...inInk,
    ],
    axes: [
      axis,
      { ...axis, scale: 'rate', values: (_, ticks) => ticks.map((tick) => `${tick} MiB/s`), size: 80 },
      ...(hasStall
        ? [
            {
              ...axis,
              scale: 'percent',
              side: 1,
              size: 60,
              grid: { show: false },
              values: (_, ticks) => ticks.map((tick) => `${tick} %`),
            },
          ]
        : []),
    ],
  };
}

/** Charts are as wide as the table above them. */
function widthIn(holder, isHalf) {
  const half = Math.floor((holder.clientWidth - GAP) / 2) - AROUND;
  return isHalf && half >= LEAST_HALF ? half : Math.max(240, holder.clientWidth - AROUND);
}
