// The chat in the frame: draws the records of the stream, sends what is typed.
import { createAttaching } from './attach.js'
import { element, markdown } from './markdown.js'
import { createService } from './service.js'
import { wordsOf } from './words.js'

const $ = id => document.getElementById(id)
const [log, status, text, send, stop] = ['log', 'status', 'text', 'send', 'stop'].map($)
const service = createService(new URLSearchParams(location.search).get('key') ?? '')
const hello = await askPage()
const words = wordsOf(hello.language)
document.documentElement.lang = hello.language.slice(0, 2)
if (hello.dir === 'rtl' || hello.dir === 'ltr') document.documentElement.dir = hello.dir

$('title').textContent = document.title = words.chat
$('fresh').textContent = words.fresh
$('close').setAttribute('aria-label', words.close)
$('text-label').textContent = words.say
text.placeholder = words.say
send.textContent = words.send
stop.textContent = words.stop
$('accept').textContent = words.accept

/** The field, and what stands beside it. */
const letWrite = may => {
  text.disabled = send.disabled = $('attach').disabled = !may
}
const attaching = createAttaching({
  button: $('attach'),
  input: $('file'),
  list: $('files'),
  words,
  async send(file) {
    let sent = null
    await trying(async () => {
      sent = await service.upload(file)
    })
    return sent
  },
})
let following = new AbortController()
/** The answer that is being written. */
let pending = null
/** Questions that wait, by the call that asked. */
const asked = new Map()
let told = null
let isLost = false

/** Language and identity of the host page; without one, of the browser. */
function askPage() {
  const none = { language: navigator.language || 'en' }
  if (parent === window) return none
  return new Promise(resolve => {
    const timer = setTimeout(() => resolve(none), 2_000)
    addEventListener('message', ({ data, source }) => {
      if (source !== parent || data?.type !== 'cairn:hello') return
      clearTimeout(timer)
      resolve({ ...none, ...data })
    })
    parent.postMessage({ type: 'cairn:ready' }, '*')
  })
}

function add(kind, content, spoken) {
  const item = element('div', ...(spoken === undefined ? [] : [unseen(spoken)]), content)
  item.className = `item ${kind}`
  const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80
  log.insertBefore(item, pending)
  if (isAtEnd || kind === 'mine') log.scrollTop = log.scrollHeight
  return item
}
function unseen(words) {
  const span = element('span', words)
  span.className = 'unseen'
  return span
}
function settle() {
  pending?.remove()
  pending = null
}

function writing(content, reset) {
  if (reset) settle()
  if (pending === null) {
    pending = element('div')
    pending.className = 'item'
    // The whole answer is read out when it is there.
    pending.setAttribute('aria-live', 'off')
    pending.dataset.text = ''
    log.append(pending)
  }
  pending.dataset.text += content ?? ''
  pending.replaceChildren(markdown(pending.dataset.text))
  log.scrollTop = log.scrollHeight
}

const DRAW = {
  'disclosure.presented': () => told !== null && add('note', told),
  'user.message': ({ content, attachments = [] }) =>
    add('mine', [content, ...attachments.map(file => `+ ${file.filename}`)].join('\n').trim(), words.you),
  'llm.delta': ({ content, reset }) => writing(content, reset),
  'llm.response': ({ message }) => {
    settle()
    add('', markdown(message.content))
  },
  'inbox.input_required': question,
  'ask_user_question.response': ({ tool_call_id, responses }) => {
    close(tool_call_id)
    add('mine', responses.map(({ answer }) => answer).join('\n'), words.you)
  },
  'inbox.governance_gate': () => add('note', words.waits),
  'inbox.action_required': () => add('note', words.waits),
  'artifact.created': ({ name }) => add('note', `${words.file}: ${name}`),
  'code.run_channel_update': ({ text: said }) => add('note', said),
  'loop.result': ({ content }) => add('', markdown(content)),
  'session.stopped': () => {
    settle()
    add('note', words.stopped)
  },
  'session.fail': () => {
    settle()
    add('note', words.failed)
  },
}

function question({ tool_call_id, questions }) {
  settle()
  const given = new Map()
  const form = document.createElement('form')
  for (const { prompt, choices = [] } of questions) {
    const set = element('fieldset', element('legend', prompt))
    for (const { label } of choices) {
      const button = element('button', label)
      button.type = 'button'
      if (questions.length > 1) button.setAttribute('aria-pressed', 'false')
      button.addEventListener('click', () => {
        given.set(prompt, label)
        if (questions.length === 1) return void answer(tool_call_id, given)
        for (const each of set.querySelectorAll('button'))
          each.setAttribute('aria-pressed', String(each === button))
      })
      set.append(button)
    }
    if (choices.length === 0 && questions.length > 1) {
      const input = element('input')
      input.setAttribute('aria-label', prompt)
      input.addEventListener('input', () => given.set(prompt, input.value))
      set.append(input)
    }
    form.append(set)
  }
  if (questions.length > 1) form.append(element('button', words.pick))
  form.addEventListener('submit', event => {
    event.preventDefault()
    answer(tool_call_id, given)
  })
  add('', form)
  asked.set(tool_call_id, form)
}
function close(callId) {
  for (const control of asked.get(callId)?.elements ?? []) control.disabled = true
  asked.delete(callId)
}
async function answer(callId, given) {
  await trying(() =>
    service.answer(
      callId,
      [...given].map(([prompt, said]) => ({ question: prompt, answer: said })),
    ),
  )
}

/** What fails is said, and nothing is lost that was typed. */
async function trying(act) {
  try {
    await act()
    say('')
    return true
  } catch (error) {
    say(`${words.refused}: ${error.message}`, true)
    return false
  }
}
function say(message, isTrouble = false) {
  status.textContent = message
  status.classList.toggle('trouble', isTrouble)
}

function onRecord(type, record) {
  if (isLost) say('')
  isLost = false
  if (type === 'state') {
    stop.hidden = !record.working
    say(record.working ? words.working : '')
    log.setAttribute('aria-busy', String(record.working))
    if (record.ended) begin()
    return
  }
  DRAW[type]?.(record.data)
}

async function begin() {
  following.abort()
  following = new AbortController()
  const { signal } = following
  pending = null
  asked.clear()
  attaching.clear()
  log.replaceChildren()
  const begun = await trying(async () => {
    const { disclosure, require_confirm, confirmed } = await service.begin({
      language: hello.language,
      ...(hello.identity === undefined ? {} : { identity: hello.identity }),
    })
    told = disclosure?.text ?? null
    $('disclosure').textContent = told ?? ''
    // Once accepted, it stands in the conversation, where it is the first thing.
    $('banner').hidden = told === null || confirmed
    const mayWrite = !require_confirm || confirmed
    letWrite(mayWrite)
    if (mayWrite) text.focus()
    else $('accept').focus()
  })
  if (!begun) return
  const onLost = () => {
    isLost = true
    // A half-written answer comes again, whole.
    settle()
    say(words.lost, true)
  }
  service.follow(0, signal, onRecord, onLost).catch(error => say(`${words.refused}: ${error.message}`, true))
}

/** The last message on its way: a message or a /stop never overtakes the one that was typed before it. */
let sending = Promise.resolve()
$('composer').addEventListener('submit', event => {
  event.preventDefault()
  const content = text.value.trim()
  text.value = ''
  sending = sending.then(() => submit(content))
})
async function submit(content) {
  const uploads = attaching.ids()
  if (content === '' && uploads.length === 0) return
  send.disabled = true
  const isSent = await trying(() =>
    /^\/(stop|cancel)$/i.test(content) ? service.stop() : service.say(content, uploads, crypto.randomUUID()),
  )
  send.disabled = false
  if (isSent) attaching.clear()
  else text.value = [content, text.value].filter(part => part !== '').join('\n')
  text.focus()
}
text.addEventListener('keydown', event => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
  event.preventDefault()
  $('composer').requestSubmit()
})
stop.addEventListener('click', () => trying(() => service.stop()))
$('fresh').addEventListener('click', () => trying(async () => await service.end()))
$('accept').addEventListener('click', () =>
  trying(async () => {
    await service.confirm()
    $('banner').hidden = true
    letWrite(true)
    text.focus()
  }),
)
const leave = () => parent.postMessage({ type: 'cairn:close' }, '*')
$('close').addEventListener('click', leave)
addEventListener('keydown', ({ key }) => key === 'Escape' && leave())

await begin()
