/** Why a button is not there to be pressed. */

import type { ReactNode } from "react";
import type { May } from "../admin.gen.js";

interface NeedsProps {
  readonly may: May;
  readonly what: string;
}

export function NeedsDeploy({ may, what }: NeedsProps): ReactNode {
  return may.deploy ? null : <Needs what={what} permission="project:deploy" />;
}

export function NeedsManage({ may, what }: NeedsProps): ReactNode {
  return may.manage ? null : <Needs what={what} permission="project:manage" />;
}

function Needs(props: { readonly what: string; readonly permission: string }): ReactNode {
  return (
    <p className="soft needs" data-testid="needs-permission">
      {props.what} needs the permission <code>{props.permission}</code>, which none of your roles
      has.
    </p>
  );
}
