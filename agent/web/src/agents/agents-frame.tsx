/** The layout of everything about agents: the list of agents and their shared parts at the left. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { meQuery } from '../queries.ts'
import { ClockIcon, PlusIcon } from '../ui/icons.tsx'
import { BookIcon, KeyIcon, LensIcon, ServerIcon } from '../ui/page-icons.tsx'
import { Page } from '../ui/page.tsx'
import { agentsWords } from '../words/agents.ts'
import type { ReactNode } from 'react'
import './agents.css'
import { AgentPage } from './agent-page.tsx'
import { AgentsHome, NEW_AGENT_HASH } from './agents-home.tsx'
import { type AgentsAddress, type Part, TO, toAgent, toPart, useAddress } from './agents-address.ts'
import { ChangesPage } from './changes-page.tsx'
import { ExpertsPage } from './experts-page.tsx'
import { McpServersPage } from './mcp-servers-page.tsx'
import { ModelsPage } from './models-page.tsx'
import { settingsQuery } from './setting-queries.ts'
import { SkillsPage } from './skills-page.tsx'
import { NotFoundPage } from '../shell/not-found-page.tsx'

type SharedPart = { part: Part; label: string; Icon: () => ReactNode; Content: () => ReactNode }
const SHARED: readonly SharedPart[] = [
  { part: 'models', label: agentsWords.models, Icon: KeyIcon, Content: ModelsPage },
  { part: 'mcp-servers', label: agentsWords.mcpServers, Icon: ServerIcon, Content: McpServersPage },
  { part: 'skills', label: agentsWords.skills, Icon: BookIcon, Content: SkillsPage },
  { part: 'experts', label: agentsWords.experts, Icon: LensIcon, Content: ExpertsPage },
  { part: 'changes', label: agentsWords.changes, Icon: ClockIcon, Content: ChangesPage },
]

function AddressContent({ address }: { address: AgentsAddress }) {
  if (address === null) return <NotFoundPage />
  if (address.at === 'home') return <AgentsHome />
  if (address.at === 'agent') return <AgentPage name={address.name} />
  const Content = SHARED.find(({ part }) => part === address.part)?.Content ?? NotFoundPage
  return <Content />
}

export function AgentsFrame() {
  const { data } = useQuery(settingsQuery('agent'))
  const { data: me } = useQuery(meQuery)
  const address = useAddress()
  return (
    <Page title={agentsWords.agents} width="full">
      <div className="agents">
        <nav className="agents-nav" aria-label={agentsWords.pages}>
          {me?.admin === true && data?.editing === true && (
            <Link
              to={TO}
              params={toAgent('')}
              hash={NEW_AGENT_HASH}
              className="button agents-new"
              data-testid="add-agent"
            >
              <PlusIcon />
              {agentsWords.newAgent}
            </Link>
          )}
          <ul>
            {(data?.items ?? []).map(({ name, settings, origin, overridden }) => (
              <li key={name}>
                <Link
                  to={TO}
                  params={toAgent(name)}
                  activeOptions={{ exact: true }}
                  className="agents-link"
                  data-testid={`agent-${name}`}
                >
                  <span className="agents-name">{name}</span>
                  <span className="faint">{String(settings['model'] ?? agentsWords.noModel)}</span>
                  {(origin === 'file' || overridden) && (
                    <span className="badge">{agentsWords.origins.file}</span>
                  )}
                </Link>
              </li>
            ))}
          </ul>
          <h2>{agentsWords.shared}</h2>
          <ul>
            {SHARED.map(({ part, label, Icon }) => (
              <li key={part}>
                <Link
                  to={TO}
                  params={toPart(part)}
                  activeOptions={{ exact: true }}
                  className="agents-link"
                  data-testid={`agents-${part}`}
                >
                  <Icon />
                  {label}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <div className="agents-scroll">
          <AddressContent address={address} />
        </div>
      </div>
    </Page>
  )
}
