/**
 * The agents and models for a new session. Separate from its button, because most servers have one of each.
 */
import type { RefObject } from 'react'
import type { AnswerOf, BodyOf } from '@cairn/protocol'
import MenuPopover from '../ui/menu-popover.tsx'
import { sessionMenuWords } from '../words/session-menu.ts'

type Body = BodyOf<'createSession'>
type About = Pick<AnswerOf<'about'>, 'agents' | 'models'>
type Choice = { agent: string; model: string; body: Body }

/** Every agent with its own model, and the first agent with each of the other models. */
function choicesOf({ agents, models }: About): Choice[] {
  const [first] = agents
  const own = agents.map(({ name, model }) => ({ agent: name, model, body: { agent: name } }))
  if (first === undefined) return own
  const others = models.filter(model => model !== first.model)
  return [
    ...own,
    ...others.map(model => ({ agent: first.name, model, body: { agent: first.name, config: { model } } })),
  ]
}

type Props = {
  about: About
  button: RefObject<HTMLButtonElement | null>
  onChoose: (body: Body) => void
  onClose: () => void
}

// React.lazy needs a default export.
export default function NewSessionMenu({ about, button, onChoose, onClose }: Props) {
  const choices = choicesOf(about)
  return (
    <MenuPopover
      menu={{
        label: sessionMenuWords.newSessionMenu,
        entries: choices.map(({ agent, model }, at) => ({ id: String(at), text: agent, detail: model })),
        placement: 'bottom start',
        onChoose: at => {
          onClose()
          onChoose(choices[Number(at)]?.body ?? {})
        },
      }}
      button={button}
      onClose={onClose}
    />
  )
}
