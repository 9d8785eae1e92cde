// Runs in the page: moves the Run view a step a frame and notes the time between frames.
// oxlint-disable-next-line no-unused-expressions -- one expression, that run-view.ts reads as text and calls in the page
;async (kind, frames) => {
  const grid = document.querySelector('[data-testid="run-grid"]')
  const brush = document.querySelector('.run-brush-area')
  const times = []
  let longTasks = 0
  const observer = new PerformanceObserver(list => {
    longTasks += list.getEntries().length
  })
  observer.observe({ type: 'longtask' })
  const end = grid.scrollHeight - grid.clientHeight
  const wheel = (deltaX, deltaY) => {
    const { left, top, width } = brush.getBoundingClientRect()
    const clientX = left + width * 0.6
    brush.dispatchEvent(
      new WheelEvent('wheel', {
        deltaX,
        deltaY,
        clientX,
        clientY: top + 10,
        bubbles: true,
        cancelable: true,
      }),
    )
  }
  let most = 0
  await new Promise(done => {
    let last = performance.now()
    const frame = i => now => {
      if (i > 0) times.push(now - last)
      last = now
      most = Math.max(most, document.querySelectorAll('[data-testid="run-row"]').length)
      if (i === frames) return done()
      // Steady: ten rows a frame, as a fast wheel does. Jumps: as a drag of the scroll bar over all rows.
      if (kind === 'steady') grid.scrollTop += 280
      if (kind === 'jumps') grid.scrollTop = end * ((i * 0.618034) % 1)
      // In and out again, as a wheel over the minimap does.
      if (kind === 'zoom') wheel(0, i % 120 < 60 ? -60 : 60)
      if (kind === 'pan') wheel(i % 80 < 40 ? 12 : -12, 0)
      requestAnimationFrame(frame(i + 1))
    }
    requestAnimationFrame(frame(0))
  })
  observer.disconnect()
  const sorted = times.toSorted((a, b) => a - b)
  const at = part =>
    Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0) * 10) / 10
  return {
    frames: times.length,
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    max: at(1),
    longTasks,
    rows: most,
  }
}
