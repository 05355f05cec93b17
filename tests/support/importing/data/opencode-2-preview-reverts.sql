BEGIN TRANSACTION;
CREATE TABLE `credential` (
          `id` text PRIMARY KEY,
          `integration_id` text,
          `label` text NOT NULL,
          `value` text NOT NULL,
          `connector_id` text,
          `method_id` text,
          `active` integer,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL
        );
CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
        );
CREATE TABLE `permission` (
          `id` text PRIMARY KEY,
          `project_id` text NOT NULL,
          `action` text NOT NULL,
          `resource` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          CONSTRAINT `fk_permission_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
        );
CREATE TABLE `project` (
          `id` text PRIMARY KEY,
          `worktree` text NOT NULL,
          `vcs` text,
          `name` text,
          `icon_url` text,
          `icon_url_override` text,
          `icon_color` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_initialized` integer,
          `sandboxes` text NOT NULL,
          `commands` text
        );
INSERT INTO "project" VALUES('1cc309d664ac1121bf465c1dbbf921df1f569a46','/home/example/project','git',NULL,NULL,NULL,NULL,1795556690936,1795556690936,NULL,'[]',NULL);
CREATE TABLE `session` (
          `id` text PRIMARY KEY,
          `project_id` text NOT NULL,
          `workspace_id` text,
          `parent_id` text,
          `slug` text NOT NULL,
          `directory` text NOT NULL,
          `path` text,
          `title` text NOT NULL,
          `version` text NOT NULL,
          `share_url` text,
          `summary_additions` integer,
          `summary_deletions` integer,
          `summary_files` integer,
          `summary_diffs` text,
          `metadata` text,
          `cost` real DEFAULT 0 NOT NULL,
          `tokens_input` integer DEFAULT 0 NOT NULL,
          `tokens_output` integer DEFAULT 0 NOT NULL,
          `tokens_reasoning` integer DEFAULT 0 NOT NULL,
          `tokens_cache_read` integer DEFAULT 0 NOT NULL,
          `tokens_cache_write` integer DEFAULT 0 NOT NULL,
          `revert` text,
          `permission` text,
          `agent` text,
          `model` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_compacting` integer,
          `time_archived` integer,
          CONSTRAINT `fk_session_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
        );
INSERT INTO "session" VALUES('ses_df07b36dfffeP9zgGIy9tEpcgd','1cc309d664ac1121bf465c1dbbf921df1f569a46',NULL,NULL,'jolly-forest','/home/example/project','','New session - 2026-11-24T21:44:50.956Z','1.18.18',NULL,NULL,NULL,NULL,NULL,NULL,0.0,0,0,0,0,0,'{"messageID":"msg_20f84fba4001a32MB2PVoXteER","snapshot":"0f7c0bae3090f611c522757e75821f12b649cc70","diff":"","files":[]}',NULL,NULL,NULL,1795556690956,1795556705452,NULL,NULL);
INSERT INTO "session" VALUES('ses_df07afb20ffex8I7Cfyt8dnatU','1cc309d664ac1121bf465c1dbbf921df1f569a46',NULL,NULL,'glowing-panda','/home/example/project','','New session - 2026-11-24T21:45:05.805Z','1.18.18',NULL,NULL,NULL,NULL,NULL,NULL,0.0,0,0,0,0,0,NULL,NULL,NULL,NULL,1795556705805,1795556708789,NULL,NULL);
INSERT INTO "session" VALUES('ses_df07aeb02ffeYGFJN37o0Ms33J','1cc309d664ac1121bf465c1dbbf921df1f569a46',NULL,NULL,'shiny-otter','/home/example/project','','New session - 2026-11-24T21:45:09.763Z','1.18.18',NULL,NULL,NULL,NULL,NULL,NULL,0.0,0,0,0,0,0,NULL,NULL,NULL,NULL,1795556709763,1795556712700,NULL,NULL);
INSERT INTO "session" VALUES('ses_df07ade49ffeoZngTq9Dx2DX7g','1cc309d664ac1121bf465c1dbbf921df1f569a46',NULL,NULL,'quick-tiger','/home/example/project','','New session - 2026-11-24T21:45:13.015Z','1.18.18',NULL,NULL,NULL,NULL,NULL,NULL,0.0,0,0,0,0,0,NULL,NULL,NULL,NULL,1795556713015,1795556713015,NULL,NULL);
CREATE TABLE `session_input` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `prompt` text NOT NULL,
          `delivery` text NOT NULL,
          `admitted_seq` integer NOT NULL,
          `promoted_seq` integer,
          `time_created` integer NOT NULL,
          CONSTRAINT `fk_session_input_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
INSERT INTO "session_input" VALUES('msg_20f84ebfa0013rFZ97zf0MRYNO','ses_df07b36dfffeP9zgGIy9tEpcgd','{"text":"staged one <<tool write {\"path\":\"made.txt\",\"content\":\"one\\n\"}>>"}','steer',1,2,1795556699131);
INSERT INTO "session_input" VALUES('msg_20f84fba4001a32MB2PVoXteER','ses_df07b36dfffeP9zgGIy9tEpcgd','{"text":"staged two <<words 2>>"}','steer',15,16,1795556703141);
INSERT INTO "session_input" VALUES('msg_20f850652001xSzQBdXs67CTr6','ses_df07afb20ffex8I7Cfyt8dnatU','{"text":"committed one <<words 2>>"}','steer',1,2,1795556705874);
INSERT INTO "session_input" VALUES('msg_20f850984001H46mfKqZN63ey3','ses_df07afb20ffex8I7Cfyt8dnatU','{"text":"committed two <<words 2>>"}','steer',7,8,1795556706692);
INSERT INTO "session_input" VALUES('msg_20f85121f001bUmVjyx5NXLzBW','ses_df07afb20ffex8I7Cfyt8dnatU','{"text":"after the commit <<words 2>>"}','steer',29,30,1795556708895);
INSERT INTO "session_input" VALUES('msg_20f85158d001Ao8A3W1eKjWER1','ses_df07aeb02ffeYGFJN37o0Ms33J','{"text":"cleared one <<words 2>>"}','steer',1,2,1795556709773);
INSERT INTO "session_input" VALUES('msg_20f851a8a001bOIJpswDqzFLCO','ses_df07aeb02ffeYGFJN37o0Ms33J','{"text":"cleared two <<words 2>>"}','steer',7,8,1795556711050);
INSERT INTO "session_input" VALUES('msg_20f852168001i7fIr21YT9Pd1z','ses_df07aeb02ffeYGFJN37o0Ms33J','{"text":"cleared unread"}','steer',15,NULL,1795556712808);
INSERT INTO "session_input" VALUES('msg_20f852253001cz3p4o85GQdF5E','ses_df07ade49ffeoZngTq9Dx2DX7g','{"text":"killed <<slow 400>> <<words 60>>"}','steer',1,2,1795556713054);
CREATE TABLE `session_message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `type` text NOT NULL,
          `seq` integer NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_session_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
INSERT INTO "session_message" VALUES('msg_20f84ebfa0013rFZ97zf0MRYNO','ses_df07b36dfffeP9zgGIy9tEpcgd','user',2,1795556699131,1795556699830,'{"time":{"created":1795556699131},"text":"staged one <<tool write {\"path\":\"made.txt\",\"content\":\"one\\n\"}>>"}');
INSERT INTO "session_message" VALUES('msg_20f84f426001nRZFPOzfdmtZVo','ses_df07b36dfffeP9zgGIy9tEpcgd','assistant',3,1795556701222,1795556702182,'{"time":{"created":1795556701222,"completed":1795556702161},"agent":"build","model":{"id":"fake-model","providerID":"fake"},"content":[{"type":"text","id":"text-0","text":"Calling write. "},{"type":"tool","id":"call_18eb194e6fe2089b_1","name":"write","provider":{"executed":false},"state":{"status":"completed","input":{"path":"made.txt","content":"one\n"},"content":[{"type":"text","text":"Created file successfully: made.txt"}],"outputPaths":[],"structured":{"operation":"write","target":"/home/example/project/made.txt","resource":"made.txt","existed":false}},"time":{"created":1795556701357,"ran":1795556701454,"completed":1795556701629}}],"snapshot":{"start":"08585692ce06452da6f82ae66b90d98b55536fca","end":"0f7c0bae3090f611c522757e75821f12b649cc70","files":["made.txt"]},"finish":"tool-calls","cost":0,"tokens":{"input":293,"output":3,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session_message" VALUES('msg_20f84fa4b001fC42NeS0Wq6TI4','ses_df07b36dfffeP9zgGIy9tEpcgd','assistant',11,1795556702795,1795556702946,'{"time":{"created":1795556702795,"completed":1795556702944},"agent":"build","model":{"id":"fake-model","providerID":"fake"},"content":[{"type":"text","id":"text-0","text":"Done: staged one | tool: Created file successfully: made.txt"}],"snapshot":{"start":"0f7c0bae3090f611c522757e75821f12b649cc70","end":"0f7c0bae3090f611c522757e75821f12b649cc70","files":[]},"finish":"stop","cost":0,"tokens":{"input":306,"output":15,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session_message" VALUES('msg_20f84fba4001a32MB2PVoXteER','ses_df07b36dfffeP9zgGIy9tEpcgd','user',16,1795556703141,1795556703273,'{"time":{"created":1795556703141},"text":"staged two <<words 2>>"}');
INSERT INTO "session_message" VALUES('msg_20f84ff1e001EKSZiCaQftVrST','ses_df07b36dfffeP9zgGIy9tEpcgd','assistant',17,1795556704030,1795556704777,'{"time":{"created":1795556704030,"completed":1795556704772},"agent":"build","model":{"id":"fake-model","providerID":"fake"},"content":[{"type":"text","id":"text-0","text":"word1 word2"}],"snapshot":{"start":"0f7c0bae3090f611c522757e75821f12b649cc70","end":"0f7c0bae3090f611c522757e75821f12b649cc70","files":[]},"finish":"stop","cost":0,"tokens":{"input":326,"output":2,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session_message" VALUES('msg_20f850652001xSzQBdXs67CTr6','ses_df07afb20ffex8I7Cfyt8dnatU','user',2,1795556705874,1795556706002,'{"time":{"created":1795556705874},"text":"committed one <<words 2>>"}');
INSERT INTO "session_message" VALUES('msg_20f8507ce001naeNcrgHQkEEmm','ses_df07afb20ffex8I7Cfyt8dnatU','assistant',3,1795556706254,1795556706573,'{"time":{"created":1795556706254,"completed":1795556706559},"agent":"build","model":{"id":"fake-model","providerID":"fake"},"content":[{"type":"text","id":"text-0","text":"word1 word2"}],"snapshot":{"start":"0f7c0bae3090f611c522757e75821f12b649cc70","end":"0f7c0bae3090f611c522757e75821f12b649cc70","files":[]},"finish":"stop","cost":0,"tokens":{"input":284,"output":2,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session_message" VALUES('msg_20f850984001H46mfKqZN63ey3','ses_df07afb20ffex8I7Cfyt8dnatU','user',8,1795556706692,1795556706778,'{"time":{"created":1795556706692},"text":"committed two <<words 2>>"}');
INSERT INTO "session_message" VALUES('msg_20f85121f001bUmVjyx5NXLzBW','ses_df07afb20ffex8I7Cfyt8dnatU','user',30,1795556708895,1795556709171,'{"time":{"created":1795556708895},"text":"after the commit <<words 2>>"}');
INSERT INTO "session_message" VALUES('msg_20f8513f30011f32CeIdR20oWp','ses_df07afb20ffex8I7Cfyt8dnatU','assistant',31,1795556709363,1795556709604,'{"time":{"created":1795556709363,"completed":1795556709603},"agent":"build","model":{"id":"fake-model","providerID":"fake"},"content":[{"type":"text","id":"text-0","text":"word1 word2"}],"snapshot":{"start":"0f7c0bae3090f611c522757e75821f12b649cc70","end":"0f7c0bae3090f611c522757e75821f12b649cc70","files":[]},"finish":"stop","cost":0,"tokens":{"input":300,"output":2,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session_message" VALUES('msg_20f85158d001Ao8A3W1eKjWER1','ses_df07aeb02ffeYGFJN37o0Ms33J','user',2,1795556709773,1795556709815,'{"time":{"created":1795556709773},"text":"cleared one <<words 2>>"}');
INSERT INTO "session_message" VALUES('msg_20f85170b001uEoK0PKon3SBw3','ses_df07aeb02ffeYGFJN37o0Ms33J','assistant',3,1795556710155,1795556710974,'{"time":{"created":1795556710155,"completed":1795556710969},"agent":"build","model":{"id":"fake-model","providerID":"fake"},"content":[{"type":"text","id":"text-0","text":"word1 word2"}],"snapshot":{"start":"0f7c0bae3090f611c522757e75821f12b649cc70","end":"0f7c0bae3090f611c522757e75821f12b649cc70","files":[]},"finish":"stop","cost":0,"tokens":{"input":283,"output":2,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session_message" VALUES('msg_20f851a8a001bOIJpswDqzFLCO','ses_df07aeb02ffeYGFJN37o0Ms33J','user',8,1795556711050,1795556711088,'{"time":{"created":1795556711050},"text":"cleared two <<words 2>>"}');
INSERT INTO "session_message" VALUES('msg_20f851cd3001tO0ZgWunbEo97U','ses_df07aeb02ffeYGFJN37o0Ms33J','assistant',9,1795556711635,1795556712203,'{"time":{"created":1795556711635,"completed":1795556712193},"agent":"build","model":{"id":"fake-model","providerID":"fake"},"content":[{"type":"text","id":"text-0","text":"word1 word2"}],"snapshot":{"start":"0f7c0bae3090f611c522757e75821f12b649cc70","end":"0f7c0bae3090f611c522757e75821f12b649cc70","files":[]},"finish":"stop","cost":0,"tokens":{"input":292,"output":2,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session_message" VALUES('msg_20f852253001cz3p4o85GQdF5E','ses_df07ade49ffeoZngTq9Dx2DX7g','user',2,1795556713054,1795556713153,'{"time":{"created":1795556713054},"text":"killed <<slow 400>> <<words 60>>"}');
INSERT INTO "session_message" VALUES('msg_20f85265c001RzD04Vj1jocgeI','ses_df07ade49ffeoZngTq9Dx2DX7g','assistant',3,1795556714076,1795556714080,'{"time":{"created":1795556714076},"agent":"build","model":{"id":"fake-model","providerID":"fake"},"content":[{"type":"text","id":"text-0","text":""}],"snapshot":{"start":"0f7c0bae3090f611c522757e75821f12b649cc70"}}');
CREATE TABLE `session_share` (
          `session_id` text PRIMARY KEY,
          `id` text NOT NULL,
          `secret` text NOT NULL,
          `url` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          CONSTRAINT `fk_session_share_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
CREATE TABLE `todo` (
          `session_id` text NOT NULL,
          `content` text NOT NULL,
          `status` text NOT NULL,
          `priority` text NOT NULL,
          `position` integer NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          CONSTRAINT `todo_pk` PRIMARY KEY(`session_id`, `position`),
          CONSTRAINT `fk_todo_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
CREATE INDEX `message_session_time_created_id_idx` ON `message` (`session_id`,`time_created`,`id`);
CREATE INDEX `part_message_id_id_idx` ON `part` (`message_id`,`id`);
CREATE INDEX `part_session_idx` ON `part` (`session_id`);
CREATE INDEX `session_input_session_pending_delivery_seq_idx` ON `session_input` (`session_id`,`promoted_seq`,`delivery`,`admitted_seq`);
CREATE INDEX `session_message_session_type_seq_idx` ON `session_message` (`session_id`,`type`,`seq`);
CREATE INDEX `session_message_session_time_created_id_idx` ON `session_message` (`session_id`,`time_created`,`id`);
CREATE INDEX `session_message_time_created_idx` ON `session_message` (`time_created`);
CREATE INDEX `session_project_idx` ON `session` (`project_id`);
CREATE INDEX `session_workspace_idx` ON `session` (`workspace_id`);
CREATE INDEX `session_parent_idx` ON `session` (`parent_id`);
CREATE INDEX `todo_session_idx` ON `todo` (`session_id`);
COMMIT;
