/** A section of the first page, and the name of a session in it. */
import type { ReactNode } from 'react'
import { type Session, visibleText } from '@cairn/protocol'
import { generalWords } from '../words/general.ts'

type SectionProps = { name: string; title: string; count?: number; link?: ReactNode; children: ReactNode }

export const Section = ({ name, title, count, link, children }: SectionProps) => (
  <section className="home-section" data-section={name} data-testid={`home-${name}`} aria-label={title}>
    <header>
      <h2>{title}</h2>
      {count !== undefined && <span className="faint numeric">{count}</span>}
      {link}
    </header>
    {children}
  </section>
)

export const titleOf = ({ title }: Session): string => visibleText(title ?? generalWords.untitledSession)
