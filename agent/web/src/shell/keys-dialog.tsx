/** The keys of the product by page, those of the open page first; loaded on first use. */
import { useRouterState } from '@tanstack/react-router'
import { Button, Heading } from 'react-aria-components'
import { scrollRegion } from '../ui/scroll-region.ts'
import { ModalDialog } from '../ui/modal.tsx'
import type { NAV_PAGES } from './nav-pages.ts'
import './keys-dialog.css'
import { generalWords } from '../words/general.ts'
import { KEY_AREAS, type KeyRow, keysWords } from '../words/keys.ts'

type Props = { pages: typeof NAV_PAGES; onClose: () => void }

/** The area of the product that an address belongs to. */
const isIn = (path: string, at: RegExp): boolean => at.test(path)

// React.lazy needs a default export.
export default function KeysDialog({ pages, onClose }: Props) {
  const path = useRouterState({ select: state => state.location.pathname })
  const here = KEY_AREAS.filter(({ at }) => isIn(path, at))
  const others = KEY_AREAS.filter(({ at }) => !isIn(path, at))
  const go = pages.map(({ key, label }): KeyRow => [[keysWords.go, key.toUpperCase()], label])
  return (
    <ModalDialog onClose={onClose} className="modal keys-modal">
      <Heading slot="title">{keysWords.title}</Heading>
      <div className="keys-areas" data-testid="keys" {...scrollRegion(keysWords.title)}>
        {here.map(({ title, rows }) => (
          <Area key={title} title={title} rows={rows} />
        ))}
        <Area title={keysWords.everywhere} rows={[...keysWords.everywhereRows, ...go]} />
        {others.map(({ title, rows }) => (
          <Area key={title} title={title} rows={rows} />
        ))}
      </div>
      <div className="actions">
        <Button className="button" onPress={onClose} autoFocus>
          {generalWords.close}
        </Button>
      </div>
    </ModalDialog>
  )
}

const Area = ({ title, rows }: { title: string; rows: readonly KeyRow[] }) => (
  <section className="keys-area">
    <h3>{title}</h3>
    <dl className="keys">
      {rows.map(([keys, text]) => (
        <div key={keys.join(' ')}>
          <dt>
            {keys.map(key => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  </section>
)
