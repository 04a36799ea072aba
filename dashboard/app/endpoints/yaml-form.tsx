import { useMemo, useState, type ReactNode } from 'react';
import type { LineProblem } from '../../src/resources/edited-manifest.ts';
import { Form } from '../remix.ts';
import { Button } from '../ui/button.tsx';
import { CodeEditor } from '../ui/code-editor.tsx';
import { EditedForm } from '../ui/edited-form.tsx';
import { ErrorSummary, NotSaved } from '../ui/error-summary.tsx';
import type { Unsaved } from '../ui/kept-form.ts';

export interface YamlFormProps {
  readonly text: string;
  readonly revision: string;
  /** The problems with the last submission. */
  readonly problems: readonly LineProblem[] | undefined;
  /** The reason why the last submission failed, if it was not processed. */
  readonly unsaved: Unsaved | undefined;
  /** True if `text` contains changes that are not saved. */
  readonly isChanged: boolean;
  readonly isSaving: boolean;
  /** Content next to the submit button. */
  readonly children: ReactNode;
}

const sentence = ({ line, message }: LineProblem): string =>
  line === undefined ? message : `Line ${line}: ${message}`;

/** Edits an object as text. */
export const YamlForm = ({ text, revision, problems, unsaved, isChanged, isSaving, children }: YamlFormProps) => {
  const [isEdited, setEdited] = useState(isChanged);
  const errors = useMemo(() => problems && { fields: {}, form: problems.map(sentence) }, [problems]);
  const marks = useMemo(
    () => problems?.flatMap(({ line, message }) => (line === undefined ? [] : [{ line, message }])),
    [problems],
  );
  return (
    <Form method="post" onInput={() => setEdited(true)} className="flex flex-col gap-3">
      <EditedForm isEdited={isEdited} />
      <NotSaved unsaved={unsaved} />
      <ErrorSummary errors={errors} />
      <input type="hidden" name="version" value={revision} />
      <CodeEditor
        name="yaml"
        label="Endpoint YAML"
        language="yaml"
        defaultValue={text}
        rows={24}
        isTall
        {...(marks !== undefined && { marks })}
      />
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" look="primary" disabled={isSaving}>
          Save
        </Button>
        {children}
      </div>
    </Form>
  );
};
