// Runs in the page: moves the grid a step a frame and notes the time between frames.
// oxlint-disable-next-line no-unused-expressions -- one expression, that scroll.ts reads as text and calls in the page
;async (kind, frames) => {
  const grid = document.querySelector('[data-testid="event-grid"]')
  const times = []
  let longTasks = 0
  const observer = new PerformanceObserver(list => {
    longTasks += list.getEntries().length
  })
  observer.observe({ type: 'longtask' })
  const end = grid.scrollHeight - grid.clientHeight
  await new Promise(done => {
    let last = performance.now()
    const frame = i => now => {
      if (i > 0) times.push(now - last)
      last = now
      if (i === frames) return done()
      // Steady: ten rows a frame, as a fast wheel does. Jumps: as a drag of the scroll bar over the whole log.
      if (kind === 'steady') grid.scrollTop += 260
      if (kind === 'jumps') grid.scrollTop = end * ((i * 0.618034) % 1)
      requestAnimationFrame(frame(i + 1))
    }
    requestAnimationFrame(frame(0))
  })
  observer.disconnect()
  const sorted = times.toSorted((a, b) => a - b)
  const at = part =>
    Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0) * 10) / 10
  return { frames: times.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1), longTasks }
}
