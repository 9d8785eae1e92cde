/** The agent and the model of the task. Their menus are loaded on first use. */
import { lazy } from 'react'
import { type AnswerOf, visibleText } from '@cairn/protocol'
import { AgentIcon, DropIcon } from '../ui/icons.tsx'
import { OpenerButton } from '../ui/opener-button.tsx'
import { homeWords } from '../words/home.ts'

const MenuPopover = lazy(() => import('../ui/menu-popover.tsx'))

type Props = {
  about: AnswerOf<'about'>
  agent: string
  /** Null: that of the agent. */
  model: string | null
  hasModel: boolean
  onAgent: (name: string) => void
  onModel: (model: string | null) => void
}

/** Not the name of a model: those contain a slash. */
const OWN = 'own'

export function Pickers({ about, agent, model, hasModel, onAgent, onModel }: Props) {
  const own = about.agents.find(({ name }) => name === agent)?.model ?? ''
  const shown = about.demo ? homeWords.demoModel : visibleText(model ?? own)
  const others = about.models.filter(other => other !== own)
  return (
    <>
      <OpenerButton
        className="pick"
        label={homeWords.agentIs(agent)}
        testId="pick-agent"
        renderOpen={(button, close) => (
          <MenuPopover
            menu={{
              label: homeWords.chooseAgent,
              placement: 'bottom start',
              entries: about.agents.map(({ name, description }) => ({
                id: name,
                text: visibleText(name),
                ...(description !== undefined && { hint: visibleText(description) }),
              })),
              onChoose: name => {
                close()
                onAgent(name)
              },
            }}
            button={button}
            onClose={close}
          />
        )}
      >
        <AgentIcon />
        <span className="truncate">{visibleText(agent)}</span>
        <DropIcon />
      </OpenerButton>
      {hasModel && (
        <OpenerButton
          className="pick"
          label={homeWords.modelIs(shown)}
          testId="pick-model"
          isDisabled={others.length === 0}
          renderOpen={(button, close) => (
            <MenuPopover
              menu={{
                label: homeWords.chooseModel,
                placement: 'bottom start',
                entries: [
                  { id: OWN, text: homeWords.ownModel(visibleText(own)) },
                  ...others.map(other => ({ id: other, text: visibleText(other) })),
                ],
                onChoose: id => {
                  close()
                  onModel(id === OWN ? null : id)
                },
              }}
              button={button}
              onClose={close}
            />
          )}
        >
          <span className="truncate">{shown}</span>
          <DropIcon />
        </OpenerButton>
      )}
    </>
  )
}
