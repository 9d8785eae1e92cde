/** The mission of the session, with a link to its page; hidden once it is over. */
import { Link } from '@tanstack/react-router'
import { visibleText } from '@cairn/protocol'
import type { Mission } from '@cairn/state'
import { oneLine } from '../format.ts'
import { MISSION_KINDS, roundOf, STATUS_WORDS } from '../missions/mission-words.ts'
import { Status } from '../ui/status.tsx'
import { chatWords } from '../words/chat.ts'

export function MissionCard({ mission }: { mission: Mission }) {
  return (
    <section
      className="rail-part"
      data-testid="mission-card"
      data-status={mission.status}
      aria-labelledby="rail-mission-head"
    >
      <header className="rail-part-head">
        <h2 id="rail-mission-head">{chatWords.mission}</h2>
        <span className="rail-facts">
          <Status
            kind={MISSION_KINDS[mission.status]}
            word={mission.open ? chatWords.evaluating : STATUS_WORDS[mission.status]}
          />
          {roundOf(mission)}
        </span>
      </header>
      <Link className="json-link" to="/missions/$missionId" params={{ missionId: mission.mission_id }}>
        {oneLine(visibleText(mission.description), 140)}
      </Link>
    </section>
  )
}
