/** Where the keyboard focus is, and whether the one focus ring of the UI shows it. */

export type Focused = {
  /** Tag, class and name of the element, to find it again. */
  name: string
  /** A number that is the same for the same element. */
  element: number
  /** The faults of its ring, one for each theme. */
  faults: string[]
}

/**
 * For `page.evaluate`; null where nothing has the focus. The ring is 2 px of `--focus`: on the element, on
 * the row or option that it marks as active, or on the frame that it shares with its buttons. Its contrast to
 * what is behind it is at least 3.
 */
export const FOCUSED = `(() => {
  const active = document.activeElement
  if (active === null || active === document.body) return null
  const root = document.documentElement
  const pen = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
  const paint = (...colors) => {
    for (const color of colors) {
      pen.fillStyle = color
      pen.fillRect(0, 0, 1, 1)
    }
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3)
  }
  const light = rgb => {
    const [r, g, b] = rgb.map(v => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const contrast = (a, b) => {
    const [high, low] = [light(a), light(b)].sort((x, y) => y - x)
    return (high + 0.05) / (low + 0.05)
  }
  const around = element => {
    const colors = []
    for (let at = element; at !== null; at = at.parentElement) colors.unshift(getComputedStyle(at).backgroundColor)
    return paint('white', ...colors)
  }
  const parents = []
  for (let at = active.parentElement; at !== null && parents.length < 4; at = at.parentElement) parents.push(at)
  const virtual = document.getElementById(active.getAttribute('aria-activedescendant') ?? '')
  const marked = [...active.querySelectorAll('[aria-selected="true"], rect')]
  const carriers = [active, ...parents, ...marked, ...(virtual === null ? [] : [virtual])]
  const isRing = (style, focus) =>
    (style.outlineStyle === 'solid' && style.outlineColor === focus && parseFloat(style.outlineWidth) >= 2) ||
    (style.borderTopStyle === 'solid' && style.borderTopColor === focus && parseFloat(style.borderTopWidth) >= 2) ||
    (style.stroke === focus && parseFloat(style.strokeWidth) >= 2)
  const faults = []
  for (const theme of ['light', 'dark']) {
    root.style.colorScheme = theme
    const probe = document.body.appendChild(document.createElement('i'))
    probe.style.color = 'var(--focus)'
    const focus = getComputedStyle(probe).color
    probe.remove()
    const ring = carriers.find(each =>
      [null, '::before', '::after'].some(part => isRing(getComputedStyle(each, part), focus)))
    if (ring === undefined) faults.push(theme + ': no ring')
    else {
      const seen = contrast(paint(focus), around(ring.parentElement))
      if (seen < 3) faults.push(theme + ': a contrast of ' + seen.toFixed(2))
    }
  }
  root.style.colorScheme = ''
  window.focusNumbers ??= new WeakMap()
  window.focusCount ??= 0
  if (!window.focusNumbers.has(active)) window.focusNumbers.set(active, (window.focusCount += 1))
  const label = active.getAttribute('aria-label') ?? active.textContent ?? ''
  return {
    name: active.tagName.toLowerCase() + '.' + (active.getAttribute('class') ?? '') + ' ' + label.trim().slice(0, 40),
    element: window.focusNumbers.get(active),
    faults,
  }
})()`
