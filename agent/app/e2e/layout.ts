/** Expressions for `page.evaluate` that find elements outside the window and words broken over two lines. */

/**
 * The visible elements that lie outside the window. Content that scrolls in a region of its own may be wider,
 * and so may a line that is cut with an ellipsis; the frame of the page may not hide what is wider.
 */
export const OUTSIDE = `(() => {
  const REGION =
    'pre, .table-scroll, .rail-tabs, .task-graph, .excerpt, .command-output, .diff, .chips, .home-starts, ' +
    '.agents-nav, [role="grid"], [role="treegrid"]'
  // The last is the native select that React Aria keeps for forms, clipped to nothing.
  const HIDDEN = '.visually-hidden, .skip, .diagram-frame, [data-testid="hidden-select-container"]'
  const style = element => getComputedStyle(element)
  const isCut = element => {
    for (let at = element.parentElement; at; at = at.parentElement) {
      const scrolls = !at.matches('.table-scroll') || style(at).overflowX !== 'visible'
      if ((at.matches(REGION) && scrolls) || style(at).textOverflow === 'ellipsis') return true
      if (at.tagName === 'svg' || at.closest('.visually-hidden')) return true
    }
    return false
  }
  const found = new Set()
  for (const element of document.querySelectorAll('#root *, .popover *, .modal *, .popover, .modal')) {
    const { left, right, width, height } = element.getBoundingClientRect()
    if (width === 0 || height === 0 || (left >= -1 && right <= innerWidth + 1)) continue
    if (element.closest(HIDDEN) || isCut(element)) continue
    if (style(element).visibility === 'hidden') continue
    const { tagName, className, dataset } = element
    found.add(tagName.toLowerCase() + '.' + String(className.baseVal ?? className) + ' ' +
      (dataset.testid ?? '') + ' ' + Math.round(left) + '..' + Math.round(right))
  }
  return [...found].slice(0, 8)
})()`

/** The words of tables, chips and buttons that are drawn in two lines. */
export const BROKEN = `(() => {
  const found = []
  for (const element of document.querySelectorAll('.table :is(th, td), .chip, .event-chip, .badge, .status, .button')) {
    const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
    for (let node = texts.nextNode(); node; node = texts.nextNode())
      for (const { index, 0: word } of node.data.matchAll(/[^\\s\\u200B-]{2,30}(?![^\\s-])/g)) {
        if (index > 0 && /[^\\s-]/.test(node.data[index - 1])) continue
        const range = document.createRange()
        range.setStart(node, index)
        range.setEnd(node, index + word.length)
        const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)))
        if (lines.size > 1) found.push(word)
      }
  }
  return found.slice(0, 8)
})()`
