// The part of Markdown that answers use, as elements: never as HTML, since the text is a model's.

/** Paragraphs, lists, fenced code, inline code, bold, links to http and https. */
export function markdown(text) {
  const parts = document.createDocumentFragment()
  const lines = text.split('\n')
  for (let at = 0; at < lines.length;) {
    const fence = /^\s*```/.exec(lines[at])
    if (fence) {
      const end = lines.findIndex((line, index) => index > at && /^\s*```\s*$/.test(line))
      const code = lines.slice(at + 1, end < 0 ? undefined : end).join('\n')
      const block = element('pre', element('code', code))
      // Wide code scrolls, by keyboard too.
      block.tabIndex = 0
      parts.append(block)
      at = end < 0 ? lines.length : end + 1
      continue
    }
    const bullet = /^\s*(?:[-*]|(\d+)[.)])\s+/
    const isList = bullet.exec(lines[at])
    if (isList) {
      const list = document.createElement(isList[1] === undefined ? 'ul' : 'ol')
      if (isList[1] !== undefined) list.start = Number(isList[1])
      for (; at < lines.length && bullet.test(lines[at]); at++)
        list.append(element('li', ...inline(lines[at].replace(bullet, ''))))
      parts.append(list)
      continue
    }
    const from = at
    while (
      at < lines.length &&
      lines[at].trim() !== '' &&
      !/^\s*```/.test(lines[at]) &&
      !bullet.test(lines[at])
    )
      at++
    const paragraph = lines.slice(from, at)
    if (paragraph.length > 0) {
      const heading = /^#{1,6}\s+(.*)$/.exec(paragraph[0])
      if (heading) parts.append(element('p', element('strong', ...inline(heading[1]))))
      const rest = heading ? paragraph.slice(1) : paragraph
      if (rest.length > 0)
        parts.append(
          element(
            'p',
            ...rest.flatMap((line, index) => [...(index ? [element('br')] : []), ...inline(line)]),
          ),
        )
    } else at++
  }
  return parts
}

const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)|(https?:\/\/[^\s<>)]+)/g
function inline(text) {
  const nodes = []
  let from = 0
  for (const found of text.matchAll(INLINE)) {
    const [whole, code, bold, name, url, bare] = found
    nodes.push(text.slice(from, found.index))
    from = found.index + whole.length
    if (code !== undefined) nodes.push(element('code', code))
    else if (bold !== undefined) nodes.push(element('strong', bold))
    else nodes.push(link(url ?? bare, name ?? bare))
  }
  return [...nodes, text.slice(from)]
}

function link(url, name) {
  const a = element('a', name)
  a.href = url
  a.target = '_blank'
  a.rel = 'noopener noreferrer'
  return a
}

export function element(name, ...children) {
  const made = document.createElement(name)
  made.append(...children)
  return made
}
