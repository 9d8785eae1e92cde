/** The foot of an editor: the reason for the change, Discard and Publish. */
import { useState } from 'react'
import { Button, Input, Label, TextField } from 'react-aria-components'
import { describeError } from '../api.ts'
import { agentsWords } from '../words/agents.ts'
import type { SettingEditor } from './use-setting-editor.ts'

export function PublishBar({ editor, version }: { editor: SettingEditor; version: number }) {
  const [note, setNote] = useState('')
  const { error, isPublishing, conflict } = editor
  return (
    <div className="publish-bar">
      {error !== null && (
        <p className="inline-error" role="alert">
          {describeError(error)}
        </p>
      )}
      <div className="publish-line">
        <TextField className="field" value={note} onChange={setNote} maxLength={500}>
          <Label>{agentsWords.note}</Label>
          <Input className="input" data-testid="publish-note" />
        </TextField>
        <Button className="button quiet" onPress={editor.discard} data-testid="discard">
          {agentsWords.discard}
        </Button>
        <Button
          className="button primary"
          isDisabled={isPublishing || conflict !== null}
          onPress={() => editor.publish(note)}
          data-testid="publish"
        >
          {agentsWords.publish(version + 1)}
        </Button>
      </div>
      <p className="faint">{agentsWords.newSessionsOnly}</p>
    </div>
  )
}
