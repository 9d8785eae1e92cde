/** An artifact shown full screen. */
import { Suspense } from 'react'
import { Heading } from 'react-aria-components'
import type { ArtifactBody } from '../queries.ts'
import { CloseIcon } from '../ui/icons.tsx'
import { ModalDialog } from '../ui/modal.tsx'
import { ArtifactBodyView } from './artifact-body.tsx'
import { generalWords } from '../words/general.ts'

type Props = { sessionId: string; name: string; spec: ArtifactBody; onClose: () => void }

// React.lazy needs a default export.
export default function FullScreen({ sessionId, name, spec, onClose }: Props) {
  return (
    <ModalDialog onClose={onClose} className="modal full">
      <header className="full-head">
        <Heading slot="title" className="truncate">
          {name}
        </Heading>
        <button
          type="button"
          className="button quiet square"
          aria-label={generalWords.close}
          onClick={onClose}
        >
          <CloseIcon />
        </button>
      </header>
      <div className="full-body" data-testid="artifact-in-full">
        <Suspense fallback={<p className="faint">{generalWords.drawing}</p>}>
          <ArtifactBodyView sessionId={sessionId} name={name} spec={spec} />
        </Suspense>
      </div>
    </ModalDialog>
  )
}
