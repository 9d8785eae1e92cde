/** What an agent asks a person to do elsewhere: the reason, the target, the context and the steps. */
import type { InboxItem } from '@cairn/protocol'
import { CopyButton } from '../ui/copy-button.tsx'
import { ExactText } from '../ui/exact-text.tsx'
import { OpenIcon, WebIcon } from '../ui/page-icons.tsx'
import { stepsOf } from './steps.ts'
import './action-request.css'
import { chatWords } from '../words/chat.ts'

/** Items of other kinds use `target` for an id. */
const WITH_TARGET = new Set<unknown>(['login', 'verification', 'browser', 'manual'])

const textIn = (payload: InboxItem['payload'], key: string): string | null => {
  const value = payload[key]
  return typeof value === 'string' && value.trim() !== '' ? value : null
}

/** Only the addresses of web pages become links. */
function webAddress(text: string): string | null {
  const address = /^[\w-]+(?:\.[\w-]+)+(?:[/:?#]|$)/.test(text) ? `https://${text}` : text
  if (!URL.canParse(address)) return null
  const { protocol, username, href } = new URL(address)
  return /^https?:$/.test(protocol) && username === '' ? href : null
}

export function ActionRequest({ item: { payload, body } }: { item: InboxItem }) {
  const instructions = textIn(payload, 'instructions') ?? body ?? ''
  const isOfAgent = WITH_TARGET.has(payload['action_type'])
  const reason = isOfAgent ? textIn(payload, 'reason') : null
  const target = isOfAgent ? textIn(payload, 'target') : null
  const context = textIn(payload, 'context')
  return (
    <div className="action-request" data-testid="action-request">
      {reason !== null && <Text text={reason} />}
      {target !== null && <Target target={target} />}
      {context !== null && <Text text={context} isMuted />}
      <Instructions text={instructions} />
    </div>
  )
}

const Text = ({ text, isMuted = false }: { text: string; isMuted?: boolean }) => (
  <p className={isMuted ? 'action-text muted' : 'action-text'} dir="auto">
    <ExactText text={text} />
  </p>
)

function Target({ target }: { target: string }) {
  const href = webAddress(target)
  return (
    <p className="action-target" data-testid="action-target" dir="ltr">
      <WebIcon />
      {href === null ? (
        <code>
          <ExactText text={target} />
        </code>
      ) : (
        <a href={href} target="_blank" rel="noreferrer noopener" className="mono">
          <ExactText text={target} />
          <OpenIcon />
        </a>
      )}
      <CopyButton text={target} name={chatWords.copyTarget} />
    </p>
  )
}

function Instructions({ text }: { text: string }) {
  const found = stepsOf(text)
  if (found === null) return text === '' ? null : <Text text={text} />
  return (
    <>
      {found.intro !== '' && <Text text={found.intro} />}
      <ol className="action-steps">
        {found.steps.map((step, at) => (
          <li key={at} dir="auto">
            <ExactText text={step} />
          </li>
        ))}
      </ol>
    </>
  )
}
