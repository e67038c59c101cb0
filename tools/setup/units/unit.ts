/**
 * The systemd unit of one instance. Its main process watches the launcher; the unit watches that one. `Delegate=yes`: systemd gives it
 * every controller and so keeps them enabled at the root, where the cells' cgroups stand beside it (`holdfast-…`). `KillMode=process`:
 * stopping or losing the launcher ends no program and no cell; `ExecStop` asks for that. `Type=notify`: up means that every program
 * serves.
 */
export const unitText = (options: {
  readonly instance: string;
  readonly data: string;
  readonly node: string;
  readonly entry: string;
}): string => `[Unit]
Description=Holdfast (${options.instance})
After=local-fs.target network.target
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=all
ExecStart=${options.node} ${options.entry} run --instance ${options.instance} --data ${options.data}
ExecStop=${options.node} ${options.entry} down --instance ${options.instance}
Delegate=yes
KillMode=process
Restart=on-failure
RestartSec=1
TimeoutStartSec=15min
TimeoutStopSec=3min
TasksMax=infinity
LimitNOFILE=524288

[Install]
WantedBy=multi-user.target
`;

export const unitName = (instance: string): string => `holdfast-${instance}.service`;
