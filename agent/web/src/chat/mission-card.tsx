/** The mission of the session in one line, with a link to its page; hidden once it is over. */
import { Link } from '@tanstack/react-router'
import { visibleText } from '@cairn/protocol'
import type { Mission } from '@cairn/state'
import { oneLine } from '../format.ts'
import { roundOf, STATUS_WORDS } from '../missions/mission-words.ts'
import './children-card.css'
import { chatWords } from '../words/chat.ts'

const DOTS: Partial<Record<Mission['status'], string>> = { active: 'running', blocked: 'needs_action' }

export function MissionCard({ mission }: { mission: Mission }) {
  return (
    <section
      className="children"
      data-testid="mission-card"
      data-status={mission.status}
      aria-label={chatWords.mission}
    >
      <p>
        <span className="dot" data-state={DOTS[mission.status] ?? 'paused'} aria-hidden="true" />
        <span>
          {chatWords.missionLine(
            (mission.open ? chatWords.evaluating : STATUS_WORDS[mission.status]).toLowerCase(),
            roundOf(mission).toLowerCase(),
          )}
        </span>
        <Link className="truncate" to="/missions/$missionId" params={{ missionId: mission.mission_id }}>
          {oneLine(visibleText(mission.description), 140)}
        </Link>
      </p>
    </section>
  )
}
