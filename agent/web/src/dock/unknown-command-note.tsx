/** Says that a message begins with an unknown command, with the nearest one and a way to send it anyway. */
import { type UnknownCommand, unknownCommand } from '@cairn/state'
import { composerWords } from '../words/composer.ts'
import { rich } from '../words/rich.tsx'
import './unknown-command-note.css'

/** The first page loads the check with the note. */
export { unknownCommand }

type Props = {
  unknown: UnknownCommand
  text: string
  onReplace: (text: string) => void
  onSend: () => void
}

// Loaded with React.lazy by the first page, which needs a default export.
export default function UnknownCommandNote({ unknown: { word, meant }, text, onReplace, onSend }: Props) {
  return (
    <p className="unknown-command" data-testid="unknown-command">
      <span role="alert">
        {meant === null
          ? composerWords.unknownCommandBare
          : rich(composerWords.unknownCommand, {
              meant: (
                <button
                  type="button"
                  className="json-link mono"
                  onClick={() => onReplace(text.replace(word, meant))}
                  data-testid="meant-command"
                >
                  {meant}
                </button>
              ),
            })}
      </span>{' '}
      <button type="button" className="json-link" onClick={onSend} data-testid="send-as-text">
        {composerWords.sendAsText}
      </button>
    </p>
  )
}
