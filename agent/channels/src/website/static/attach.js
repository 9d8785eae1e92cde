// Files that go with the next message: each is sent at once, and named above the field until then.
import { element } from './markdown.js'

/** As many as a message takes. */
const MOST = 10

export function createAttaching({ button, input, list, words, send }) {
  let waiting = []
  const draw = () => {
    list.replaceChildren(...waiting.map(drawOne))
    list.hidden = waiting.length === 0
  }
  function drawOne(file) {
    const remove = element('button', '✕')
    remove.type = 'button'
    remove.className = 'quiet'
    remove.setAttribute('aria-label', `${words.remove}: ${file.filename}`)
    remove.addEventListener('click', () => {
      waiting = waiting.filter(each => each !== file)
      draw()
      button.focus()
    })
    return element('li', file.filename, remove)
  }
  button.textContent = '+'
  button.setAttribute('aria-label', words.attach)
  button.addEventListener('click', () => input.click())
  input.addEventListener('change', async () => {
    const chosen = [...input.files].slice(0, MOST - waiting.length)
    input.value = ''
    for (const file of chosen) {
      const sent = await send(file)
      if (sent !== null) waiting.push(sent)
      draw()
    }
    button.focus()
  })
  return {
    ids: () => waiting.map(({ upload_id }) => upload_id),
    clear() {
      waiting = []
      draw()
    },
  }
}
